# SPDX-License-Identifier: Apache-2.0
# The family of a quantile, qgam's elf, with what mgcv's methods read of a family.

#' An extended family. `value`: the parameters of a model, qu, lsig and co.
elf_family <- function(value) {
  qu <- value[["qu"]]
  co <- value[["co"]]
  rate <- exp(value[["lsig"]])
  entropy <- -qu * log(qu) - (1 - qu) * log1p(-qu)
  loss <- function(y, mu) {
    x <- (y - mu) / co
    (ifelse(x > 0, qu, qu - 1) * x + log1p(exp(-abs(x))) - entropy) * co / rate
  }
  link <- stats::make.link("identity")
  structure(list(
    family = sprintf("elf(qu=%s)", format(qu, digits = 15)), link = "identity", linkfun = link$linkfun,
    linkinv = link$linkinv, mu.eta = link$mu.eta, valideta = link$valideta, validmu = function(mu) all(is.finite(mu)),
    n.theta = 0, getTheta = function(trans = FALSE) if (trans) rate else log(rate), initialize = expression(mustart <- y),
    dev.resids = function(y, mu, wt, theta = NULL) 2 * wt * loss(y, mu),
    Dd = function(y, mu, theta, wt, level = 0) {
      curvature <- 2 * wt * stats::dlogis(y, mu, co) / rate
      list(Dmu = 2 * wt * (1 - qu - stats::plogis(y, mu, co)) / rate, Dmu2 = curvature, EDmu2 = curvature)
    },
    aic = function(y, mu, theta = NULL, wt, dev) {
      shape <- co / rate
      2 * sum(wt * (loss(y, mu) + log(co) + lbeta((1 - qu) * shape, qu * shape) + entropy * shape))
    }), class = c("extended.family", "family"))
}

#' A model of each of several quantiles: see man/tessera_mqgam.Rd. Each object's call is one of tessera_bam.
tessera_mqgam <- function(formula, data = list(), qu, ..., lsig = NULL, err = NULL, quiet = FALSE) {
  call <- match.call()
  if (missing(qu)) usage_error("qu is missing: give the quantiles, such as qu = c(0.1, 0.5, 0.9)")
  if ("family" %in% names(call)) usage_error("family has no place here: the quantiles are in qu")
  if (is_stream(data, TRUE)) usage_error("data is a stream, which is read only once: give a file or a table")
  given <- Filter(Negate(is.null), list(qu = qu, lsig = lsig, err = err))
  if (!all(vapply(given, is.numeric, NA)) || !all(lengths(given) %in% c(1, length(qu)))) {
    usage_error("qu, lsig and err are numbers: give lsig and err once, or once for each quantile")
  }
  families <- sprintf("elf(%s)", do.call(paste, c(unname(Map(paste, names(given), given, sep = "=")), sep = ",")))
  call[[1]] <- quote(tessera::tessera_bam)
  call <- call[!names(call) %in% names(given)]
  frame <- parent.frame()
  models <- lapply(stats::setNames(families, qu)[order(qu)], function(family) {
    call$family <- family
    eval(call, frame)
  })
  predictors <- do.call(cbind, lapply(models, function(one) as.vector(one$linear.predictors)))
  if (length(predictors) && !quiet) {
    crossings <- rowSums(predictors[, -1, drop = FALSE] < predictors[, -ncol(predictors), drop = FALSE])
    message("quantiles cross in ", sum(crossings > 0), " rows of the fit")
  }
  models
}

#' The engine's text of a family that is one of `text`, or an object of qgam.
elf_text <- function(family) {
  if (is.null(family$getQu)) return(family$family)
  sprintf("elf(qu=%s,lsig=%s,co=%s)", number_text(family$getQu()), number_text(family$getTheta()), number_text(family$getCo()))
}
