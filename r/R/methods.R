# SPDX-License-Identifier: Apache-2.0
# Methods of class "tessera". They call mgcv's methods, but stop if the method needs the rows of the fit and the object
# has no rows: mgcv would compute with the stand-in rows. predict() needs no method: predict.gam reads the object.

has_rows <- function(object) !inherits(object$model, "tessera_stand_in")

need_rows <- function(object, what) if (!has_rows(object)) stop_without_rows(what)

stop_without_rows <- function(what) {
  usage_error(what, " needs the rows of the fit, which the object lacks: read the model by read_tessera(file, data = ",
              "TABLE) with the table of the fit, or fit with model = TRUE")
}

need_one_predictor <- function(object, what) {
  if (is_general(object$family)) usage_error(what, " is not defined for the family ", object$family$family)
}

residuals.tessera <- function(object, type = "deviance", ...) {
  need_rows(object, "residuals")
  if (type == "working" && !is_general(object$family)) {
    residuals <- (object$y - object$fitted.values) / object$family$mu.eta(object$linear.predictors)
    return(stats::naresid(object$na.action, residuals))
  }
  mgcv::residuals.gam(object, type, ...)
}

fitted.tessera <- function(object, ...) {
  need_rows(object, "fitted")
  NextMethod()
}

weights.tessera <- function(object, ...) {
  need_rows(object, "weights")
  NextMethod()
}

model.matrix.tessera <- function(object, ...) {
  need_rows(object, "model.matrix")
  NextMethod()
}

model.frame.tessera <- function(formula, ...) {
  need_rows(formula, "model.frame")
  NextMethod()
}

#' The leverage of each row of the fit: the diagonal of the influence matrix of the last iteration's working model.
influence.tessera <- function(model, ...) {
  need_rows(model, "influence")
  need_one_predictor(model, "influence")
  if (!is.null(model$std.rsd)) usage_error("influence: the leverage of a row is not defined for a fit with rho")
  # Blocks of rows with few levels of the largest factor have few columns that are not zero.
  frame <- model$model
  levels <- vapply(frame, nlevels, 0L)
  rows <- if (max(levels) > 0) order(frame[[which.max(levels)]]) else seq_len(nrow(frame))
  of_block <- function(rows) {
    block <- frame[rows, , drop = FALSE]
    attr(block, "terms") <- attr(frame, "terms")
    X <- stats::predict(model, block, type = "lpmatrix")
    used <- colSums(X != 0) > 0
    X <- X[, used, drop = FALSE]
    rowSums((X %*% model$Vp[used, used]) * X)
  }
  size <- max(100, 1e7 %/% length(model$coefficients))
  unscaled <- numeric(nrow(frame))
  unscaled[rows] <- unlist(lapply(split(rows, (seq_along(rows) - 1) %/% size), of_block))
  stats::naresid(model$na.action, model$weights * unscaled / model$tessera$covariance_scale)
}

hatvalues.tessera <- function(model, ...) stats::influence(model)

cooks.distance.tessera <- function(model, ...) {
  leverage <- stats::influence(model)
  residuals <- stats::residuals(model, type = "pearson")
  (residuals / (1 - leverage))^2 * leverage / (model$sig2 * sum(model$edf))
}

rstandard.tessera <- function(model, type = c("deviance", "pearson"), ...) {
  stats::residuals(model, type = match.arg(type)) / sqrt(model$sig2 * (1 - stats::influence(model)))
}

nobs.tessera <- function(object, ...) object$tessera$n

extractAIC.tessera <- function(fit, scale, k = 2, ...) {
  edf <- fit$tessera$n - fit$df.residual
  c(edf, fit$aic + (k - 2) * edf)
}

#' mgcv's summary. Without all rows of the fit, the number of rows and R-squared come from the model. With a large random
#' effect the tests of smooths do, as mgcv would decompose the covariance of all levels.
summary.tessera <- function(object, ...) {
  tests <- object$tessera$tests
  if (!is.null(tests)) {
    object$tessera$tests <- NULL
    object$smooth <- list()
    object$R <- FALSE  # mgcv warns of tests without it
    summary <- summary.tessera(object, ...)
    at_scale <- if (colnames(tests)[3] == "F") tests[, "Ref.df"] else 1
    summary[c("m", "s.table", "edf", "chi.sq", "s.pv")] <-
      list(nrow(tests), tests, tests[, "edf"], tests[, 3] * at_scale, tests[, "p-value"])
    return(summary)
  }
  if (has_rows(object) && is.null(object$tessera$is_sample)) return(mgcv::summary.gam(object, ...))
  object$y <- absent_values(object$tessera$n)
  object$model <- unclass(object$model)
  object$prior.weights <- 1
  object$fitted.values <- 0
  summary <- mgcv::summary.gam(object, ...)
  n <- object$tessera$n
  summary$n <- if (n <= .Machine$integer.max) as.integer(n) else n
  summary["r.sq"] <- list(if (!is.na(object$tessera$r.sq)) object$tessera$r.sq)
  summary
}

#' mgcv's plots. Without rows, plots have no partial residuals and no rug, and surfaces cover the whole range (too.far =
#' 0), unless the fit stored a sample of the rows (options = list(sample = 1000)).
plot.tessera <- function(x, residuals = FALSE, rug = NULL, too.far = NULL, all.terms = FALSE, ...) {
  if (has_rows(x)) return(NextMethod())
  if (all.terms) stop_without_rows("plot with all.terms")
  if (!is.null(x$tessera$sample)) {
    return(mgcv::plot.gam(with_extents(x), residuals = residuals, rug = rug, too.far = if_given(too.far, 0.1), ...))
  }
  if (!isFALSE(residuals)) stop_without_rows("plot with residuals")
  if (isTRUE(rug)) stop_without_rows("plot with rug = TRUE")
  if (!is.null(too.far) && too.far > 0) stop_without_rows("plot with too.far")
  x$model <- plain_rows(x$model)
  mgcv::plot.gam(x, residuals = FALSE, rug = FALSE, too.far = 0, ...)
}

#' A copy of the object whose model frame has the rows stored by the fit, for k.check, gam.check and similar functions.
#' Quantities of all rows, such as those of the summary, are unchanged.
sample_rows <- function(object) {
  if (has_rows(object)) return(object)
  rows <- object$tessera$sample
  if (is.null(rows)) {
    usage_error("the model has no sample of its rows: give data = , or fit it again with options = list(sample = 2000)")
  }
  object$model <- rows
  object$tessera$is_sample <- TRUE
  if (is_general(object$family)) {
    slots <- predictor_slots(object, rows, as.matrix(stats::predict(object)))
    object[names(slots)] <- slots
    return(object)
  }
  object$offset <- offset_of(rows)
  design <- stats::predict(object, type = "lpmatrix")
  object$linear.predictors <- as.numeric(design %*% object$coefficients) + object$offset
  of_response <- initialized(rows, object$family)
  object[names(of_response)] <- of_response
  object$fitted.values <- object$family$linkinv(object$linear.predictors)
  object$weights <- working_weights(object)
  object$residuals <- mgcv::residuals.gam(object, "deviance")
  object
}

#' The weights of the last iteration's working model.
working_weights <- function(object) {
  family <- object$family
  slope <- family$mu.eta(object$linear.predictors)
  if (!inherits(family, "extended.family")) {
    return(object$prior.weights * slope^2 / family$variance(object$fitted.values))
  }
  of_rows <- family$Dd(object$y, object$fitted.values, family$getTheta(), object$prior.weights)
  slope^2 * of_rows$EDmu2 / 2
}

#' The object of the stored sample for plots: first the stand-in rows, which have the extents of all rows and no
#' residuals, then the sampled rows.
with_extents <- function(x) {
  sampled <- sample_rows(x)
  vectors <- names(sampled$model)[vapply(sampled$model, function(one) is.null(dim(one)), NA)]
  vectors <- intersect(vectors, names(x$model))  # smooths use no matrix variables
  ends <- plain_rows(x$model)[vectors]
  sampled$model <- rbind(ends, sampled$model[vectors])
  attr(sampled$model, "terms") <- attr(x$model, "terms")
  if (is_general(sampled$family)) return(sampled)  # mgcv's plots have no partial residuals of these
  sampled$residuals <- c(rep(NA, nrow(ends)), sampled$residuals)
  sampled$weights <- c(rep(mean(sqrt(sampled$weights))^2, nrow(ends)), sampled$weights)
  sampled
}

#' For emmeans. Without rows and without data = in the call, covariates have the model's means and extents, and factors
#' are crossed. The number of rows per level is then not known: means weighted by it are NaN.
recover_data.tessera <- function(object, data = NULL, ...) {
  recover <- utils::getS3method("recover_data", "gam", envir = asNamespace("emmeans"))
  if (has_rows(object)) return(recover(object, data = data, ...))
  rows <- if (is.null(data)) reference_rows(object) else data
  class(object) <- setdiff(class(object), "tessera")  # emmeans 1.10 asks for weights that objects of gam lack
  rows <- recover(object, data = rows, ...)
  if (is.null(data)) rows[["(weights)"]] <- Inf
  rows
}

#' Rows with the mean and extremes of numbers, and all combinations of the levels of factors in parametric terms.
reference_rows <- function(object) {
  known <- object$var.summary
  means <- object$tessera$means
  is_number <- vapply(known, is.numeric, NA)
  lacking <- setdiff(names(known)[is_number], names(means))
  if (length(lacking)) {
    usage_error("the model does not store the mean of ", toString(lacking), ": give rows by data = , or fit the model ",
                "again with options = list(sample = 1)")
  }
  levels <- lapply(known[!is_number], function(x) factor(levels(x), levels = levels(x)))
  cross <- levels[intersect(names(levels), all.vars(object$pterms))]
  if (prod(lengths(cross)) > 1e5)
    usage_error("the factors have ", prod(lengths(cross)), " combinations of levels, too many: give data = ")
  # Repeats a value between the extremes of a number so often that the mean over the rows is the model's mean.
  least <- vapply(names(known)[is_number], function(name) {
    ends <- range(known[[name]])
    if (diff(ends) == 0) 3 else diff(ends) / min(abs(ends - means[[name]])) + 2
  }, 0)
  rows <- ceiling(max(5, least, lengths(levels)) / max(1, prod(lengths(cross)))) * max(1, prod(lengths(cross)))
  numbers <- sapply(names(known)[is_number], function(name) {
    ends <- range(known[[name]])
    c(ends, rep((rows * means[[name]] - sum(ends)) / (rows - 2), rows - 2))
  }, simplify = FALSE)
  crossed <- if (length(cross)) expand.grid(cross)[rep_len(seq_len(prod(lengths(cross))), rows), , drop = FALSE]
  alone <- lapply(levels[setdiff(names(levels), names(cross))], rep_len, rows)
  as.data.frame(c(numbers, as.list(crossed), alone), optional = TRUE)
}

#' For package effects, which refits the formula by glm(): effects of parametric terms; smooths have their mean, 0.
Effect.tessera <- function(focal.predictors, mod, ...) {
  need_one_predictor(mod, "Effect")
  parametric <- seq_len(mod$nsdf)
  sources <- list(formula = stats::formula(mod$pterms), coefficients = stats::coef(mod)[parametric],
                  vcov = stats::vcov(mod)[parametric, parametric, drop = FALSE])
  effects::Effect.default(focal.predictors, mod, ..., sources = sources)
}

# The stand-in for missing rows: it has the variables' names, types and levels, which predictions need.

plain_rows <- function(rows) {
  structure(rows, class = "data.frame", row.names = .set_row_names(NROW(.subset2(rows, 1))))
}

#' str() of an object, which RStudio calls for its list of variables, is no error.
str.tessera_stand_in <- function(object, ...) cat(" rows that the object does not keep\n")

str.tessera_absent <- str.tessera_stand_in

dim.tessera_stand_in <- function(x) stop_without_rows("the model frame")

`[.tessera_stand_in` <- function(x, i, j, ...) {
  if (nargs() == 2) return(plain_rows(x)[i])
  if (!missing(i)) stop_without_rows("the model frame")
  if (missing(j)) return(x)
  column <- .subset2(x, j)
  if (is.factor(column)) column else structure(column, class = "tessera_absent")
}

#' Represents a value per row that is not stored: only the length of `y` is known.
length.tessera_absent <- function(x) {
  if (is.null(attr(x, "rows"))) stop_without_rows("the model frame")
  attr(x, "rows")
}

as.numeric.tessera_absent <- function(x, ...) NA_real_

Summary.tessera_absent <- function(..., na.rm = FALSE) {
  if (is.null(attr(..1, "rows"))) stop_without_rows("the model frame")
  NA_real_
}

Ops.tessera_absent <- function(e1, e2) {
  for (one in list(e1, if (!missing(e2)) e2)) {
    if (inherits(one, "tessera_absent") && is.null(attr(one, "rows"))) stop_without_rows("the model frame")
  }
  NA_real_
}

`[.tessera_absent` <- function(x, ...) stop_without_rows("the model frame")

as.character.tessera_absent <- function(x, ...) stop_without_rows("the model frame")

mean.tessera_absent <- function(x, ...) stop_without_rows("the model frame")

Math.tessera_absent <- function(x, ...) stop_without_rows("the model frame")
