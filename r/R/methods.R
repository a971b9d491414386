# SPDX-License-Identifier: Apache-2.0
# Methods of class "tessera": mgcv's, but that what needs the rows of the fit stops where there are none, in place of
# an answer from the stand-in.

has_rows <- function(object) !inherits(object$model, "tessera_stand_in")

need_rows <- function(object, what) if (!has_rows(object)) stop_without_rows(what)

stop_without_rows <- function(what) {
  usage_error(what, " needs the rows of the fit: give read_tessera(file, data = ) its table, or fit with model = TRUE")
}

residuals.tessera <- function(object, type = "deviance", ...) {
  need_rows(object, "residuals")
  if (type == "working") {
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

influence.tessera <- function(model, ...) {
  need_rows(model, "influence")
  NextMethod()
}

nobs.tessera <- function(object, ...) object$tessera$n

extractAIC.tessera <- function(fit, scale, k = 2, ...) {
  edf <- fit$tessera$n - fit$df.residual
  c(edf, fit$aic + (k - 2) * edf)
}

#' mgcv's summary; without rows the number of them and the R-squared are the model's.
summary.tessera <- function(object, ...) {
  if (has_rows(object)) return(NextMethod())
  object$model <- unclass(object$model)
  object$prior.weights <- 1
  object$fitted.values <- 0
  summary <- mgcv::summary.gam(object, ...)
  summary$n <- object$tessera$n
  summary["r.sq"] <- list(if (!is.na(object$tessera$r.sq)) object$tessera$r.sq)
  summary
}

#' mgcv's plots; without rows no rug and no partial residuals, and surfaces everywhere (too.far = 0).
plot.tessera <- function(x, residuals = FALSE, rug = NULL, too.far = NULL, all.terms = FALSE, ...) {
  if (has_rows(x)) return(NextMethod())
  if (!isFALSE(residuals)) stop_without_rows("plot with residuals")
  if (all.terms) stop_without_rows("plot with all.terms")
  if (isTRUE(rug)) stop_without_rows("plot with rug = TRUE")
  if (!is.null(too.far) && too.far > 0) stop_without_rows("plot with too.far")
  x$model <- plain_rows(x$model)
  mgcv::plot.gam(x, residuals = FALSE, rug = FALSE, too.far = 0, ...)
}

#' For emmeans: without rows, and without data = in its call, covariates are at the mean and extent that the model has.
recover_data.tessera <- function(object, data = NULL, ...) {
  if (!has_rows(object) && is.null(data)) data <- reference_rows(object)
  utils::getS3method("recover_data", "gam", envir = asNamespace("emmeans"))(object, data = data, ...)
}

#' Rows with the mean, ends and levels of the variables.
reference_rows <- function(object) {
  known <- object$var.summary
  means <- object$tessera$means
  lacking <- setdiff(names(known)[vapply(known, is.numeric, NA)], names(means))
  if (length(lacking)) usage_error("the model has no mean of ", toString(lacking), ": give data = , or fit it again")
  inner <- vapply(names(means), function(name) {
    ends <- range(known[[name]])
    diff(ends) / min(abs(ends - means[[name]]))
  }, 0)
  rows <- max(5, ceiling(inner[is.finite(inner)]) + 2, vapply(known, nlevels, 0L))
  columns <- lapply(stats::setNames(nm = names(known)), function(name) {
    if (is.factor(known[[name]])) return(rep_len(factor(levels(known[[name]]), levels = levels(known[[name]])), rows))
    ends <- range(known[[name]])
    c(ends, rep((rows * means[[name]] - sum(ends)) / (rows - 2), rows - 2))
  })
  as.data.frame(columns, optional = TRUE)
}

# The stand-in: it has the names, types and levels of the variables, which predictions ask for, and no rows.

plain_rows <- function(rows) structure(rows, class = "data.frame")

dim.tessera_stand_in <- function(x) stop_without_rows("this")

`[.tessera_stand_in` <- function(x, i, j, ...) {
  if (nargs() == 2) return(plain_rows(x)[i])
  if (!missing(i)) stop_without_rows("this")
  if (missing(j)) return(x)
  column <- .subset2(x, j)
  if (is.factor(column)) column else structure(column, class = "tessera_absent")
}

#' Numbers of the rows, of which there are none; those of `y` are counted.
length.tessera_absent <- function(x) {
  if (is.null(attr(x, "rows"))) stop_without_rows("this")
  attr(x, "rows")
}

as.numeric.tessera_absent <- function(x, ...) NA_real_

Summary.tessera_absent <- function(..., na.rm = FALSE) {
  if (is.null(attr(..1, "rows"))) stop_without_rows("this")
  NA_real_
}

Math.tessera_absent <- function(x, ...) stop_without_rows("this")
