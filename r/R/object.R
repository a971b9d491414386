# SPDX-License-Identifier: Apache-2.0
# Makes an object of class "gam" with bam's slots from a model.

#' A model of tessera-fit as an object of class c("bam", "tessera", "gam", "glm", "lm").
#'
#' @param file a model.json, with its .cov file in the same folder.
#' @param data the data frame of the fit; without it, functions that need rows stop with a message that asks for it.
read_tessera <- function(file, data = NULL) {
  model <- .Call(C_load, path.expand(file))
  on.exit(.Call(C_close, model))
  json <- .Call(C_json, model)
  call <- as.call(c(list(quote(tessera_bam), formula = str2lang(json$formula)),
                    if (!is.null(data)) list(data = substitute(data)), list(family = json$family)))
  if (!is.null(data)) data <- table_of_fit(as.data.frame(data), json)
  gam_object(model, json, data, if (!is.null(data)) call_vectors(json, data), call, mgcv::gam.control())
}

#' The model's formula, or its list of formulas.
formula_of <- function(json) eval(str2lang(json$formula), globalenv())

#' The columns of a table in the form that the fit used.
table_of_fit <- function(data, json) {
  read <- all.vars(mgcv::interpret.gam(formula_of(json))$fake.formula)
  missing <- setdiff(read, names(data))
  if (length(missing)) input_error("data has no column ", toString(missing), ", which the formula reads: add it")
  conform(data, json)
}

#' Makes the object of a model.
#'
#' @param model the pointer to the engine's model, for its matrices.
#' @param json the model's JSON as parsed in parse.R.
#' @param data the variables of the formula, all rows of the table, or NULL.
#' @param frame a list: `weights`, `offset`, `ar.start` and `subset` are vectors, `na.action` a function; `formula` is
#'     the formula of the call, `fitted` the engine's results for all rows, `rows` rows that represent the table.
#' @param call,control the call and control of the fit.
gam_object <- function(model, json, data, frame, call, control) {
  family <- mgcv_family(json)
  formula <- if (is.null(frame$formula)) formula_of(json) else frame$formula
  if (is_general(family) && !is.list(formula)) formula <- list(formula)  # of two classes
  parts <- mgcv::interpret.gam(formula)  # evaluates arguments such as k = in the formula's own environment
  formula <- global(formula)
  if (!is.null(data)) data <- conform(data, json)
  some <- if (!is.null(frame$rows)) frame$rows
          else if (!is.null(data)) extreme_rows(data, complete_rows(data, frame$subset))
          else stand_in_variables(parts, json)
  parametric <- parametric_slots(parts, json, some, data)
  if (is.list(formula)) {
    readers <- lapply(formula_parts(parts), `[[`, "lpi")  # the linear predictors that a formula's terms are added to
    of_predictors <- lapply(seq_len(parts$nlp), function(p) {
      unname(which(vapply(readers, function(own) p %in% own, NA)[parametric$predictor]))
    })
    attr(formula, "lpi") <- structure(of_predictors, overlap = parts$nlp < length(readers))
  }
  object <- c(estimates(model, json, parametric),
              list(family = family, formula = formula, call = call, control = control), parametric$slots)
  specifications <- do.call(c, lapply(formula_parts(parts), `[[`, "smooth.spec"))
  object$smooth <- model_smooths(json, specifications, parametric$places)
  # Of a large random effect, or of one of many responses, mgcv cannot compute the tests.
  if (anyNA(object$Vp) || is.null(object$R) && is.null(data)) object$tessera$tests <- smooth_tests(model)
  if (anyNA(object$Vp)) object$Vp <- with_pairs(object$Vp, object$smooth)
  object$paraPen <- parametric_penalties(json, object$nsdf)
  object <- c(object, smoothing_slots(model, json, object$family))
  has_effects <- any(field(object$smooth, "null.space.dim") == 0)
  if (has_effects && length(object$R)) {
    object[c("R", "Ve")] <- exact_null_space(object, object$tessera$covariance_scale)
  }
  object$min.edf <- object$nsdf + sum(field(object$smooth, "null.space.dim"))
  object <- c(object, if (is.null(data)) stand_in_slots(parts, json, some)
                      else row_slots(model, json, parts, data, frame, object))
  object$terms <- attr(object$model, "terms")
  if (is.null(data)) object$tessera$sample <- sample_frame(parts, json)
  structure(object, class = c("bam", "tessera", "gam", "glm", "lm"))
}

#' The object's slots for coefficients, covariances and quantities of the whole fit. Parametric coefficients are in R's
#' order; coefficients dropped by the engine are 0.
estimates <- function(model, json, parametric) {
  value <- function(name) .Call(C_value, model, name)
  square <- function(name) as.matrix(value(name))  # of one coefficient, too
  places <- parametric$places
  names <- parametric$names
  of_each <- function(values) if (length(values)) stats::setNames(zero_where_left_out(values[places], places), names)
  of_pairs <- function(values) if (length(values)) zero_where_left_out(values[places, places, drop = FALSE], places)
  R <- square("R")
  converged <- value("converged") == 1
  object <- list(
    coefficients = of_each(value("coefficients")), Vp = of_pairs(square("covariance")), Ve = of_pairs(square("Ve")),
    Vc = of_pairs(square("Vc")), R = if (length(R)) triangle_of(R, places),
    edf = of_each(value("edf")), edf1 = of_each(value("edf1")), edf2 = of_each(value("edf2")),
    sig2 = value("scale"), scale = value("scale"), reml.scale = value("scale"),
    scale.estimated = value("scale_is_estimated") == 1, gcv.ubre = c(fREML = value("reml")), aic = value("aic"),
    deviance = value("deviance"), null.deviance = value("null_deviance"), df.null = value("n"),
    df.residual = value("n") - value("edf_total"), rank = length(json$coefficients), method = "fREML",
    iter = value("iterations"), converged = converged, boundary = FALSE,
    AR1.rho = if (json$family == "gaussian") if_given(json[["rho"]], 0),
    gamma = if_given(json[["gamma"]], 1), cmX = of_each(numbers(json$column_means)), data = NA,
    mgcv.conv = list(iter = value("iterations"), message = if (converged) "full convergence" else json$not_converged,
                     fully.converged = converged, rms.grad = NA_real_, hess.pos.def = TRUE),
    tessera = list(n = value("n"), covariance_scale = value("covariance_scale"), r.sq = value("r_squared_adjusted"),
                   means = means_of(json)))
  if (!is.null(object$R)) colnames(object$R) <- names
  Filter(Negate(is.null), object)
}

#' R with a row and column of the identity for each dropped coefficient: mgcv decomposes R again, and a zero column
#' would remove a row.
triangle_of <- function(R, places) {
  kept <- !is.na(places)
  whole <- diag(1, length(places))
  whole[kept, ] <- 0
  whole[kept, kept] <- R[, places[kept]]
  whole
}

#' R and Ve with exact zeros in directions that the rows do not determine, such as the sum of a random effect's columns
#' when there is an intercept. In these directions the engine's values, computed from X'WX, are about sqrt(rounding),
#' and mgcv's tests of random effects would count them. With thousands of coefficients the tests take minutes.
exact_null_space <- function(object, scale) {
  R <- object$R
  if (ncol(R) > 1000) return(list(R, object$Ve))
  decomposed <- qr(R, LAPACK = TRUE)
  is_left_out <- abs(diag(decomposed$qr)) <= 1e-5 * sqrt(colSums(R^2))[decomposed$pivot]
  if (!any(is_left_out)) return(list(R, object$Ve))
  triangle <- qr.R(decomposed)
  triangle[is_left_out, ] <- 0
  R[, decomposed$pivot] <- triangle
  list(R, crossprod(R %*% object$Vp) / scale)
}

#' The covariance with the pairs of a large random effect, of which the model has only the variances. Given the other
#' coefficients its levels are independent, as each row has one of them. Of several such effects pairs remain NaN.
with_pairs <- function(V, smooths) {
  part <- which(rowSums(is.nan(V)) > 0)
  own <- Filter(function(s) all(part >= s$first.para & part <= s$last.para), smooths)
  if (length(own) != 1 || !inherits(own[[1]], "random.effect")) return(V)
  others <- setdiff(which(diag(V) > 0), part)
  deviations <- sqrt(diag(V)[others])
  decomposed <- eigen(V[others, others] / tcrossprod(deviations), symmetric = TRUE)
  kept <- decomposed$values > 1e-12 * max(decomposed$values)
  across <- sweep(V[part, others, drop = FALSE], 2, deviations, "/") %*% decomposed$vectors[, kept, drop = FALSE]
  variances <- diag(V)[part]
  V[part, part] <- tcrossprod(sweep(across, 2, sqrt(decomposed$values[kept]), "/"))
  diag(V)[part] <- variances
  V
}

#' The engine's tests of smooths, in the form of summary()'s table; NA for large random effects.
smooth_tests <- function(model) {
  summary <- .Call(C_summary, model)
  values <- vapply(summary$smooths, function(one) numbers(list(one$edf, one$df, one$statistic, one$p_value)), numeric(4))
  matrix(t(values), ncol = 4, dimnames = list(texts(field(summary$smooths, "term")),
                                              c("edf", "Ref.df", summary$statistic, "p-value")))
}

means_of <- function(json) {
  known <- Filter(function(one) !is.null(one$mean), json$outline$var_summary)
  stats::setNames(numbers(lapply(known, `[[`, "mean")), gsub("^`|`$", "", texts(field(known, "name"))))
}

zero_where_left_out <- function(values, places) {
  left_out <- is.na(places)
  if (is.matrix(values)) {
    values[left_out, ] <- 0
    values[, left_out] <- 0
  } else {
    values[left_out] <- 0
  }
  values
}

if_given <- function(value, usual) if (is.null(value)) usual else value

#' The penalties of parametric terms as in mgcv: matrices and the first coefficient of each; NULL: none.
parametric_penalties <- function(json, nsdf) {
  sizes <- lengths(lapply(json$design$blocks, `[[`, "names"))
  begins <- cumsum(c(1, sizes))
  of_block <- function(b) {
    block <- json$design$blocks[[b]]
    S <- penalty_matrices(block$penalty, sizes[b])
    given <- as.logical(unlist(block$given))[seq_along(S)]
    list(S = S, off = rep(begins[b], length(S)), rank = numbers(json$terms[[b]][["rank"]]),
         sp = stats::setNames(ifelse(given %in% TRUE, numbers(json$terms[[b]]$sp), -1), texts(block$penalty$labels)))
  }
  penalised <- which(!is_smooth(json$design$blocks) & !vapply(lapply(json$design$blocks, `[[`, "penalty"), is.null, NA))
  if (!length(penalised)) return(NULL)
  all <- do.call(Map, c(list(c), lapply(penalised, of_block)))
  c(all, list(L = diag(length(all$S)), full.sp.names = names(all$sp)))
}

#' The slots for smoothing parameters: `sp` has the estimated ones, one for each id; `full.sp`, if it differs, has one
#' for each penalty.
smoothing_slots <- function(model, json, family) {
  penalised <- !vapply(lapply(json$design$blocks, `[[`, "penalty"), is.null, NA)
  blocks <- json$design$blocks[penalised]
  terms <- json$terms[penalised]
  full <- stats::setNames(numbers(unlist(lapply(terms, function(term) numbers(term$sp)))),
                          as.character(unlist(lapply(blocks, function(block) texts(block$penalty$labels)))))
  given <- unlist(lapply(blocks, function(block) {
    as.logical(unlist(block$given))[seq_along(block$penalty$labels)]
  })) %in% TRUE  # a model of many responses does not say it
  ids <- unlist(lapply(blocks, penalty_ids))
  first <- !given & !duplicated(ids)
  # mgcv 1.9 infers from `optimizer` whether the Hessian includes the family's parameters.
  slots <- list(sp = full[first], optimizer = c(if (if_given(family$n.theta, 0) > 0) "outer" else "perf", "newton"))
  if (!all(first)) slots$full.sp <- full
  c(slots, hessian_slots(model, json, sum(first), family$n.theta))
}

penalty_ids <- function(block) {
  count <- length(block$penalty$labels)
  if (is.null(block[["ids"]])) sprintf("%s %d", block$label, seq_len(count)) else rep_len(texts(block[["ids"]]), count)
}

#' The criterion's derivatives with respect to log(`sp`) and the log scale, if the model has them. mgcv expects the
#' family's parameters first; fREML has no derivatives for them, so they are made independent here.
hessian_slots <- function(model, json, count, thetas) {
  hessian <- as.matrix(.Call(C_value, model, "reml_hessian"))
  if (count == 0 || nrow(hessian) < count) return(NULL)
  of_sp <- seq_len(count)
  V <- covariance_of(hessian)[of_sp, of_sp, drop = FALSE]
  thetas <- if_given(thetas, 0)
  gradient <- numeric(thetas + nrow(hessian))  # the derivative with respect to the log scale is 0
  gradient[thetas + of_sp] <- .Call(C_value, model, "reml_gradient")[of_sp]
  hessian <- rbind(diag(1, thetas, length(gradient)), cbind(matrix(0, nrow(hessian), thetas), hessian))
  list(outer.info = list(conv = if (json$converged) "full convergence" else json$not_converged, iter = json$iterations,
                         grad = gradient, hess = hessian),
       V.sp = V)
}

covariance_of <- function(hessian) {
  decomposed <- eigen(hessian, symmetric = TRUE)
  inverse <- ifelse(decomposed$values > 0, 1 / decomposed$values, 0)
  decomposed$vectors %*% (inverse * t(decomposed$vectors))
}

#' Stand-in rows for a missing table, with the extents and levels of the variables. For an R session with mgcv but
#' without our methods, the number of rows and the length of `y` are the fit's, so that summary has its degrees of
#' freedom. predict() of these rows then fails, because the length of the columns does not divide that number.
stand_in_slots <- function(parts, json, rows) {
  count <- nrow(rows)
  while (json$n %% count == 0) count <- count + 1
  rows <- rows[rep_len(seq_len(nrow(rows)), count), , drop = FALSE]
  rows <- evaluated_frame(parts$fake.formula, rows, json, na.action = stats::na.pass)
  for (name in names(rows)) {
    # An expression may reach its extremes between the extremes of its variables.
    own <- extent_of(name, json)$values
    if (is.numeric(rows[[name]]) && is.null(dim(rows[[name]])) && length(own)) rows[[name]] <- rep_len(own, nrow(rows))
  }
  attr(rows, "terms") <- global(attr(rows, "terms"))
  attr(rows, "row.names") <- .set_row_names(min(json$n, .Machine$integer.max))
  class(rows) <- c("tessera_stand_in", "data.frame")  # structure() would write out the row names
  absent <- absent_values(json$n)
  list(model = rows, y = absent, residuals = absent)
}

#' `count` values that do not exist: a sequence of doubles that begins at NA, so that each is NA in any R session. R keeps
#' a sequence, in memory and in files, as its length, begin and step, and makes none of NA but from such a file.
absent_values <- function(count) {
  file <- serialize(seq_len(2^31), NULL, version = 3)
  in_file <- function(numbers) writeBin(numbers, raw(), endian = "big")
  place <- grepRaw(in_file(c(2^31, 1, 1)), file, fixed = TRUE)
  file[place - 1 + seq_len(16)] <- in_file(c(count, NA))
  structure(unserialize(file), rows = count, class = "tessera_absent")
}

#' The object's slots with a value for each row.
row_slots <- function(model, json, parts, data, frame, object) {
  mf <- model_frame(parts, json, data, frame)
  if (nrow(mf) != json$n) {
    input_error("data has ", nrow(mf), " complete rows, but the fit had ", json$n, ": give the table of the fit")
  }
  general <- is_general(object$family)
  rows <- if (is.null(frame$fitted)) fitted_rows(model, json, data, general) else frame$fitted
  if (nrow(rows) > nrow(mf)) {
    used <- if (general) places_of(mf, frame$subset, nrow(rows)) else !is.nan(rows$linear_predictor)
    rows <- rows[used, , drop = FALSE]
  }
  slots <- if (general) predictor_slots(object, mf, matrix(rows, nrow(rows))) else {
    c(initialized(mf, object$family),
      list(linear.predictors = rows$linear_predictor, fitted.values = rows$fitted, weights = rows$working_weight,
           residuals = rows$deviance))
  }
  deviance <- drop(crossprod(if (general) sqrt(slots$prior.weights) * slots$residuals else slots$residuals))
  if (!isTRUE(all.equal(deviance, json$deviance, tolerance = 1e-6))) {
    input_error("data: the deviance of its rows is ", format(deviance), ", but that of the fit is ",
                format(json$deviance), ": give the table of the fit")
  }
  slots <- c(list(model = mf, na.action = attr(mf, "na.action")), slots)
  rho <- if_given(json[["rho"]], 0)
  if (rho != 0) slots$std.rsd <- standardised(rows$deviance, rho, mf[["(AR.start)"]])
  slots
}

#' The engine's results for all rows of a table.
fitted_rows <- function(model, json, data, general) {
  given <- texts(json[c("weights", "offset", "subset", "ar_start")])
  read <- c(all.vars(str2lang(json$formula)), unlist(lapply(given, function(text) all.vars(str2lang(text)))))
  table <- .Call(C_table, lapply(data[intersect(read, names(data))], as_column))
  on.exit(.Call(C_close, table))
  rows_of_fit(model, table, character(0), general)
}

#' The rows of the table that are in the model frame.
places_of <- function(mf, subset, rows) {
  places <- seq_len(rows)
  if (!is.null(subset)) places <- places[subset]
  if (is.null(attr(mf, "na.action"))) places else places[-attr(mf, "na.action")]
}

offset_of <- function(mf) if (is.null(offset <- stats::model.offset(mf))) numeric(nrow(mf)) else as.numeric(offset)

#' The response, prior weights and offset after the family's initialisation.
initialized <- function(mf, family) {
  known <- list(y = unname(mf[[attr(attr(mf, "terms"), "response")]]), nobs = nrow(mf),
                weights = if_given(stats::model.weights(mf), rep(1, nrow(mf))), family = family, start = NULL,
                etastart = NULL, mustart = NULL, offset = offset_of(mf))
  at <- list2env(known, parent = asNamespace("mgcv"))
  if (!is_general(family)) eval(family$initialize, at)
  else if (is.factor(at$y)) at$y <- as.integer(at$y) - 1
  list(y = as.numeric(at$y), prior.weights = as.numeric(at$weights), offset = known$offset)
}

#' The slots with a value for each row of a family with several linear predictors, as gam has them. `eta`: the
#' predictors without the offset of the call, which belongs to the first one.
predictor_slots <- function(object, mf, eta) {
  family <- object$family
  slots <- c(list(family = family), initialized(mf, family))
  slots$offset <- lapply(object$pterms, function(terms) {
    place <- attr(terms, "offset")
    if (!is.null(place)) as.numeric(mf[[text_of(attr(terms, "variables")[[place + 1]])]])
  })
  if (!is.null(own <- mf[["(offset)"]])) {
    eta[, 1] <- eta[, 1] + own
    slots$offset[[1]] <- own + if_given(slots$offset[[1]], 0)
  }
  slots$linear.predictors <- slots$fitted.values <- eta
  for (p in seq_len(ncol(eta))) slots$fitted.values[, p] <- family$linfo[[p]]$linkinv(eta[, p])
  at <- list2env(list(object = slots), parent = asNamespace("mgcv"))
  eval(family$postproc, at)
  slots$fitted.values <- at$object$fitted.values
  slots$residuals <- family$residuals(slots)
  slots$family <- NULL
  slots
}

#' Residuals of an AR1 process, transformed to be independent.
standardised <- function(residuals, rho, starts) {
  after <- c(0, residuals[-length(residuals)])
  begins <- seq_along(residuals) == 1
  if (!is.null(starts)) begins <- begins | starts
  ifelse(begins, residuals, (residuals - rho * after) / sqrt(1 - rho^2))
}
