# SPDX-License-Identifier: Apache-2.0
# Comparisons of an object: with the engine's own output, with the same object without data, and with bam's object.
engine <- asNamespace("tessera")
#' The models of the script's arguments: names, or `all`; without arguments a third, others each week.
chosen <- function(models, arguments = commandArgs(TRUE)) {
  if (!length(arguments)) return(models[seq_along(models) %% 3 == as.integer(Sys.Date()) %/% 7 %% 3])
  if ("all" %in% arguments) models else models[intersect(arguments, names(models))]
}

faults <- character(0)
#' The largest difference relative to the largest value; a text if the two cannot be compared.
apart <- function(ours, theirs) {
  ours <- as.matrix(ours)
  theirs <- as.matrix(theirs)
  if (!identical(dim(ours), dim(theirs))) {
    return(paste("shape", toString(dim(ours)), "in place of", toString(dim(theirs))))
  }
  if (!identical(unname(is.na(ours)), unname(is.na(theirs)))) return("NA elsewhere")
  if (!length(ours)) return(0)
  max(0, abs(ours - theirs), na.rm = TRUE) / max(1e-300, abs(theirs), na.rm = TRUE)
}
same <- function(what, ours, theirs, tolerance) {
  distance <- tryCatch(apart(ours, theirs), error = function(e) conditionMessage(e))
  if (is.character(distance) || !isTRUE(distance <= tolerance)) {
    faults <<- c(faults, paste0(what, ": ", format(distance, digits = 2)))
  }
}
holds <- function(what, condition) {
  held <- tryCatch(isTRUE(condition), error = function(e) conditionMessage(e))
  if (!isTRUE(held)) faults <<- c(faults, paste0(what, if (is.character(held)) paste0(": ", held)))
}
quietly <- function(expression) {
  pdf(NULL)
  on.exit(dev.off())
  suppressWarnings(utils::capture.output(value <- expression))
  invisible(value)
}

# The engine's own output

predicted <- function(fit, table, ...) .Call(engine$C_predict, fit$pointer, .Call(engine$C_table, table), c(...))

#' Compares predictions of every type for the rows of `table`. mgcv has no iterms of several linear predictors, and its
#' families with a `predict` of their own have standard errors of responses of other rows or predictors (docs/fit.md).
same_predictions <- function(what, m, fit, table) {
  design <- predict(m, table, type = "lpmatrix")
  own <- predicted(fit, table, type = "lpmatrix")
  left_out <- colnames(design)[coef(m) == 0]
  holds(paste(what, "names"), setequal(setdiff(colnames(design), left_out), setdiff(colnames(own), left_out)))
  same(paste(what, "lpmatrix"), design[, colnames(own)], own, 1e-10)
  for (type in c("link", "response", "terms", if (!is.list(m$formula)) "iterms")) {
    found <- predict(m, table, type = type, se.fit = TRUE)
    own <- predicted(fit, table, type = type, se = "true")
    is_se <- grepl(".se$|^se(\\.|$)", colnames(own))
    if (type %in% c("terms", "iterms")) {
      # The engine omits a dropped term; here the term is 0.
      there <- colnames(found$fit) %in% colnames(own) | colSums(found$fit != 0) > 0
      found <- lapply(found[1:2], function(one) one[, there, drop = FALSE])
      if (is.list(m$formula)) own <- own[, order(match(sub(".se$", "", colnames(own)), colnames(found$fit)))]
      holds(paste(what, type, "names"), identical(colnames(found$fit), colnames(own)[!is_se]))
    }
    same(paste(what, type), found$fit, own[, !is_se], 1e-8)
    if (type == "response" && !is.null(m$family$predict)) next
    same(paste(what, type, "se"), found$se.fit, own[, is_se], 1e-8)
  }
}

#' Records as a data frame, with NA for a missing value.
as_table <- function(records) {
  column <- function(name) sapply(records, function(one) if (is.null(one[[name]])) NA else one[[name]])
  as.data.frame(sapply(names(unlist(records[1], FALSE)), column, simplify = FALSE))
}

same_summary <- function(what, m, fit) {
  own <- .Call(engine$C_summary, fit$pointer)
  own[c("coefficients", "smooths")] <- lapply(own[c("coefficients", "smooths")], as_table)
  found <- summary(m)
  holds(paste(what, "rows"), found$n == own$n && nobs(m) == own$n)
  if (length(m$smooth)) {
    is_effect <- vapply(m$smooth, function(s) s$null.space.dim == 0, NA)
    same(paste(what, "edf"), found$s.table[, 1], own$smooths$edf, 1e-8)
    # mgcv counts directions of random effects that the data do not determine, except for rounding; the engine does not.
    same(paste(what, "reference df"), found$s.table[!is_effect, 2], own$smooths$df[!is_effect], 1e-6)
    df_of <- function(df) if (m$scale.estimated) df else 1
    same(paste(what, "statistic"), found$s.table[, 3] * df_of(found$s.table[, 2]),
         own$smooths$statistic * df_of(own$smooths$df), 1e-4)
    same(paste(what, "scale"), found$scale, own$scale, 1e-8)
    is_there <- own$smooths$edf > 1e-3
    differences <- abs(found$s.table[, 4] - own$smooths$p_value)
    holds(paste(what, "p-values"), all((differences < ifelse(is_effect, 1e-5, 1e-7))[is_there]))
  }
  same(paste(what, "parametric"), found$p.table[own$coefficients$name, , drop = FALSE],
       as.matrix(own$coefficients[, -1]), 1e-8)
  if (!is.null(found$r.sq) && !is.null(own$r_squared_adjusted)) {
    same(paste(what, "R-squared"), found$r.sq, own$r_squared_adjusted, 1e-8)
  }
  if (!is.null(own$deviance_explained)) {
    same(paste(what, "deviance explained"), found$dev.expl, own$deviance_explained, 1e-8)
  }
  value <- function(name) .Call(engine$C_value, fit$pointer, name)
  if (is.finite(value("AIC"))) {
    # edf2 has fewer exact digits.
    same(paste(what, "AIC"), AIC(m), value("AIC"), 1e-6)
    same(paste(what, "logLik"), as.numeric(logLik(m)), value("log_likelihood"), 1e-8)
    same(paste(what, "BIC"), BIC(m), -2 * value("log_likelihood") + log(value("n")) * value("log_likelihood_df"), 5e-6)
  }
}

#' Functions that need no rows give the same results without rows.
same_without_rows <- function(what, m, m0) {
  same(paste(what, "vcov"), vcov(m0), vcov(m), 0)
  same(paste(what, "vcov frequentist"), vcov(m0, freq = TRUE), vcov(m, freq = TRUE), 0)
  alike <- setdiff(names(m0), c("model", "y", "residuals", "call", "smooth", "terms", "pterms", "family"))
  holds(paste(what, "slots"), identical(m0[alike], m[alike]))
  holds(paste(what, "smooths"), isTRUE(all.equal(m0$smooth, m$smooth)))
  for (f in c("summary", "anova", "AIC", "BIC", "logLik", "gam.vcomp", "sp.vcov", "df.residual", "deviance",
              "coef")) {
    found <- tryCatch(quietly(do.call(f, list(m0))), error = conditionMessage)
    expected <- tryCatch(quietly(do.call(f, list(m))), error = conditionMessage)
    holds(paste(what, f), isTRUE(all.equal(found, expected, check.attributes = FALSE)))
  }
  of_plots <- lapply(list(m0, m), function(one) tryCatch({
    lapply(quietly(plot(one, rug = FALSE, pages = 1, too.far = 0, seWithMean = TRUE)), `[`, c("x", "y", "fit", "se"))
  }, error = conditionMessage))
  holds(paste(what, "plot"), isTRUE(all.equal(of_plots[[1]], of_plots[[2]])))
}

#' Plots show predictions and residuals. They are drawn from an object with data and, if they need no rows, from one
#' without.
same_pictures <- function(what, m, m0) {
  drawn <- function(f, object) tryCatch({ quietly(f(object)); "drawn" }, error = conditionMessage)
  for (f in c("gam.check", "qq.gam")) {
    if (length(m$smooth)) holds(paste(what, f, drawn(get(f), m)), drawn(get(f), m) == "drawn")
  }
  holds(paste(what, "vis.gam", drawn(vis.gam, m0)), drawn(vis.gam, m0) == drawn(vis.gam, m))
}

#' Compares residuals and mgcv's results from them for an object with data; `table` is the fit's.
same_rows <- function(what, m, fit, table) {
  handle <- .Call(engine$C_table, table)
  for (type in c("deviance", "pearson", "response", "working", "scaled.pearson")) {
    own <- tryCatch(.Call(engine$C_residuals, fit$pointer, handle, c(type = type))[, 1], error = function(e) NaN)
    if (all(is.nan(own))) next  # scat and betar have no Pearson residuals
    if (grepl("^elf", m$family$family) && type == "working") next  # the engine has the steps of the iteration
    # mgcv omits weights in the saturated likelihood of betar.
    if (grepl("^Beta", m$family$family) && any(m$prior.weights != 1) && type == "deviance") next
    same(paste(what, type, "residuals"), suppressWarnings(residuals(m, type = type)), own[!is.nan(own)], 1e-8)
  }
  same(paste(what, "model.matrix"), model.matrix(m) %*% coef(m) + m$offset, m$linear.predictors, 1e-10)
  # As in bam, predictions exclude the offset of the call.
  same(paste(what, "predict"), predict(m), m$linear.predictors - rowSums(cbind(0, m$model[["(offset)"]])), 1e-10)
  same(paste(what, "fitted"), fitted(m), m$family$linkinv(m$linear.predictors), 1e-10)
  if (!length(m$smooth)) return(invisible())
  some <- m$model[1:20, ]
  label <- m$smooth[[1]]$label
  same(paste(what, "exclude"), predict(m, some, exclude = label, newdata.guaranteed = TRUE), predict(m)[1:20] -
         predict(m, some, type = "terms")[, label], 1e-10)
}

# Slots for bam's own use, and slots of its bases that depend on the rows from which a basis was made.
own_slots <- c("G", "Sl", "qrx", "db.drho", "hat", "wt", "NA.action", "yX.last",
               "weights.name", "AR.sname")
own_smooth_slots <- c("S", "C", "Cp", "fac", "ind", "XP", "ord", "Xb", "np", "mp", "L", "margin", "D", "m",
                      "udrop", "rind",
                      "tensor.possible", "Sp")

#' Compares the slots with bam's object `b`, except `unlike`, which are known to differ.
same_slots <- function(what, m, b, unlike) {
  alike <- function(ours, theirs, ...) isTRUE(all.equal(ours, theirs, check.attributes = FALSE, ...))
  missing <- setdiff(names(b), c(names(m), own_slots))
  holds(paste(what, "slots of bam:", toString(missing)), !length(missing))
  for (slot in c("nsdf", "df.null", "assign", "xlevels", "contrasts", "AR1.rho", "method", "rank", "boundary")) {
    holds(paste(what, slot), alike(m[[slot]], b[[slot]]))
  }
  has_parameters <- isTRUE(m$family$n.theta > 0)  # gam.vcomp of mgcv 1.9 learns this from the optimizer
  holds(paste(what, "optimizer"), identical(m$optimizer, if (has_parameters) c("outer", "newton") else b$optimizer))
  for (slot in c("y", "prior.weights", "offset")) same(paste(what, slot), m[[slot]], b[[slot]], 1e-14)
  # With select = TRUE mgcv accidentally appends S to the name of the first smoothing parameter of bs = "gp".
  plain_names <- function(sp) sub("(S|[0-9]+)$", "", names(sp))
  holds(paste(what, "names"), identical(names(coef(m)), names(coef(b))) &&
          identical(plain_names(m$sp), plain_names(b$sp)))
  holds(paste(what, "model frame"), alike(m$model, b$model) && identical(names(m$model), names(b$model)))
  if (!"var.summary" %in% unlike) {
    holds(paste(what, "var.summary"), alike(m$var.summary, b$var.summary, tolerance = 1e-3) &&
            identical(names(m$var.summary), names(b$var.summary)))
  }
  holds(paste(what, "family"), m$family$link == b$family$link &&
          (m$family$family == b$family$family || inherits(b$family, "extended.family")))
}

same_smooth <- function(what, ours, theirs) {
  what <- paste(what, theirs$label)
  missing <- setdiff(names(theirs), c(names(ours), own_smooth_slots))
  holds(paste(what, "slots", toString(missing)), !length(missing))
  slots <- c("term", "by", "by.level", "label", "dim", "bs.dim", "first.para", "last.para",
             "null.space.dim", "p.order", "id", "fixed")
  if (!inherits(theirs, c("fs.interaction", "sz.interaction"))) slots <- c(slots, "df")
  # The functions that m = c(2, 0) drops are in the basis here, and diagRP removes them.
  if (isTRUE(theirs$drop.null > 0)) slots <- setdiff(slots, "bs.dim")
  for (slot in slots) {
    holds(paste(what, slot, deparse1(ours[[slot]]), "in place of", deparse1(theirs[[slot]])),
          isTRUE(all.equal(ours[[slot]], theirs[[slot]], check.attributes = FALSE)))
  }
  holds(paste(what, "class"), identical(setdiff(class(ours), "tessera_districts"), class(theirs)))
  if (!inherits(theirs, "t2.smooth")) return(invisible())
  # Natural functions of a margin with knots are mgcv's but for signs; of one with points, rounding decides in mgcv.
  for (i in which(vapply(theirs$margin, inherits, NA, "cr.smooth"))) {
    same(paste(what, "natural parametrisation"), abs(ours$P[[i]]), abs(theirs$P[[i]]), 1e-8)
  }
}

#' Whether bam's fit has the same linear predictors.
same_predictors <- function(what, m, b, decide) {
  difference <- max(abs(m$linear.predictors - b$linear.predictors)) / diff(range(b$linear.predictors))
  if (difference <= 1e-5) return(TRUE)
  no_worse(paste(what, "predictors by", format(difference, digits = 2)), m, b, decide)
  FALSE
}

#' If bam's fit ended elsewhere, which happens for a flat criterion, our criterion must be lower, or `decide` must find
#' no fault.
no_worse <- function(what, m, b, decide) {
  if (is.null(decide)) {
    holds(paste(what, "at fREML", m$gcv.ubre, "in place of", b$gcv.ubre), m$gcv.ubre <= b$gcv.ubre)
  } else if (!is.null(fault <- decide())) {
    holds(paste0(what, ", ", fault), FALSE)
  }
}

#' Compares bam's estimates. Other constraints give bam other coefficients, so these are not compared.
same_estimates <- function(what, m, b, unlike) {
  edf_of <- function(object) {
    of_smooths <- if (!"columns" %in% unlike) {
      vapply(object$smooth, function(s) sum(object$edf[s$first.para:s$last.para]), 0)
    }
    c(sum(object$edf), of_smooths)
  }
  same(paste(what, "edf"), edf_of(m), edf_of(b), 1e-4)
  # With more than 1e8 degrees of freedom scat is the normal distribution, and lgamma() has no exact digits in mgcv.
  is_normal <- grepl("^[Ss]caled t", m$family$family) && m$family$getTheta(TRUE)[1] > 1e8
  if (is.finite(AIC(m)) && !is_normal) {
    holds(paste(what, "AIC", AIC(m), AIC(b)), abs(AIC(m) - AIC(b)) < 0.05)
  }
  same(paste(what, "fitted"), fitted(m), fitted(b), 1e-4)
  same(paste(what, "deviance residuals"), residuals(m), residuals(b), 1e-4)
  same(paste(what, "weights"), m$weights, b$weights, 1e-4)
  if (!is.null(m$std.rsd)) same(paste(what, "std.rsd"), m$std.rsd, b$std.rsd, 1e-4)
  for (slot in setdiff(c("deviance", "null.deviance", "sig2", "df.residual", "min.edf"), unlike)) {
    same(paste(what, slot), m[[slot]], b[[slot]], 1e-4)
  }
}

#' Compares mgcv's results from the derivatives of fREML. At an end of their range, smoothing parameters are only as
#' exact as the iteration.
same_components <- function(what, m, b, decide) {
  components <- function(object) {
    found <- quietly(gam.vcomp(object))
    as.matrix(if (is.list(found)) found$vc else found)
  }
  theirs <- b$outer.info$hess
  of_sp <- seq_along(m$sp)
  certain <- diag(theirs)[of_sp] > 0.05
  thetas <- nrow(m$outer.info$hess) - nrow(theirs)
  at <- thetas + seq_len(nrow(theirs))
  # bam's Hessian excludes the family's parameters, but gam.vcomp of 1.8 leaves out that many smooths.
  b$family$n.theta <- 0
  # With more than 10,000 rows S.scale is computed from a sample of them.
  deviations <- list(components(m)[of_sp, 1], components(b)[of_sp, 1])
  same(paste(what, "gam.vcomp"), deviations[[1]] * sqrt(m$sp / b$sp) / deviations[[2]], 0 * of_sp + 1, 1e-2)
  difference <- apart(deviations[[1]][certain], deviations[[2]][certain])
  if (difference > 2e-2) {
    no_worse(paste(what, "smoothing parameters, by which gam.vcomp differs by", format(difference, digits = 2)), m, b,
             decide)
  } else if (all(certain)) {
    same(paste(what, "Hessian"), m$outer.info$hess[at, at], theirs, 5e-3)
    same(paste(what, "V.sp"), m$V.sp, b$V.sp, 0.2)
    same(paste(what, "intervals of gam.vcomp"), components(m), components(b), 2e-2)
    if (thetas == 0) same(paste(what, "sp.vcov"), sp.vcov(m), sp.vcov(b), 0.2)
  }
}

#' The difference of each measure of concurvity, for coefficients of `b` that give the predictors of `m`, because two
#' fits agree in fewer digits. NULL for dependent columns (e.g. a random effect with the intercept), for which mgcv's
#' decomposition is rounding.
concurvity_apart <- function(m, b) {
  b$coefficients <- qr.coef(qr(model.matrix(b)), m$linear.predictors - m$offset)
  measures <- list(concurvity(m), concurvity(b))
  if (!isTRUE(all(measures[[2]]["worst", -1] < 1 - 1e-8))) return(NULL)
  differences <- abs(measures[[1]] - measures[[2]])
  is_zero <- vapply(m$smooth, function(s) sum(m$edf[s$first.para:s$last.para]), 0) < 1e-3
  differences["observed", utils::tail(seq_len(ncol(differences)), length(is_zero))[is_zero]] <- 0  # only rounding
  apply(differences, 1, max)
}

same_checks <- function(what, m, b, unlike) {
  # "estimate" depends on gam's coordinates, which bam does not use (differences.R).
  measures <- c("worst", "observed", if (!inherits(b, "bam")) "estimate")
  holds(paste(what, "concurvity"), all(concurvity_apart(m, b)[measures] < 1e-6))
  if ("columns" %in% unlike) return(invisible())
  checked <- lapply(list(m, b), function(object) {
    set.seed(3)
    k.check(object)
  })
  same(paste(what, "k.check"), checked[[1]], checked[[2]], 1e-3)
}

#' Whether bam keeps a dependent column of a smooth (e.g. by = a number, together with that number) that is dropped
#' here; the spans must be equal.
is_dependent <- function(what, m, b) {
  if (length(coef(b)) <= length(coef(m))) return(FALSE)
  rank_of <- function(object) qr(model.matrix(object), tol = 1e-9)$rank
  holds(paste(what, "rank"), rank_of(b) == rank_of(m))
  TRUE
}

same_as_bam <- function(what, m, b, unlike, decide = NULL) {
  if (is_dependent(what, m, b)) {
    unlike <- c(unlike, "columns", "min.edf")
  } else {
    # If all smoothing parameters are given, bam's object has another form.
    if (inherits(b, "bam") && length(m$sp)) same_slots(what, m, b, unlike)
    for (i in seq_along(b$smooth)) same_smooth(what, m$smooth[[i]], b$smooth[[i]])
  }
  if (!same_predictors(what, m, b, decide)) return(invisible())
  same_estimates(what, m, b, unlike)
  if (length(m$sp) && inherits(b, "bam") && !"gam.vcomp" %in% unlike) same_components(what, m, b, decide)
  if (length(m$smooth)) same_checks(what, m, b, unlike)
}
