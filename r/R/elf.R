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

#' The engine's text of a family that is one of `text`, or an object of qgam.
elf_text <- function(family) {
  if (is.null(family$getQu)) return(family$family)
  sprintf("elf(qu=%s,lsig=%s,co=%s)", number_text(family$getQu()), number_text(family$getTheta()), number_text(family$getCo()))
}
