# SPDX-License-Identifier: Apache-2.0
# A table, and deviances of models with an intercept and an offset, by R's glm; for families that glm lacks, or where it
# stops early, the minimum of mgcv's deviance residuals. R 4.2.2, mgcv 1.8-41.
suppressMessages(library(mgcv))
set.seed(48)
n <- 80
d <- data.frame(x=round(runif(n), 3), o=round(runif(n, -.1, .1), 3), e=round(runif(n, .8, 1.2), 3), w=round(runif(n, .3, 2), 2))
mu <- exp(.3 + .4*d$x + d$o)
d$y <- round(rgamma(n, 20, scale=mu/20), 3)
d$count <- rpois(n, mu)
d$bin <- rbinom(n, 1, .3 + .2*d$x)
d$share <- round(rbeta(n, 4, 5), 3)
of_glm <- function(y, family, w, o) {
  fits <- lapply(c(0, min(o), max(o)), function(shift)
    try(glm(y ~ 1 + offset(o), family=family, weights=w, start=family$linkfun(mean(y)) - shift, epsilon=1e-14, maxit=500)$deviance, silent=TRUE))
  min(unlist(Filter(is.numeric, fits)))
}
# For a beta response mgcv approximates the saturated likelihood.
residuals_of <- function(family, y, w) {
  if (!grepl("Beta", family$family)) return(function(mu) family$dev.resids(y, mu, w))
  phi <- family$getTheta(TRUE)
  log_likelihood <- function(y, mu) dbeta(y, mu*phi, (1 - mu)*phi, log=TRUE)
  saturated <- sapply(y, function(one) optimize(function(eta) log_likelihood(one, plogis(eta)), c(-60, 60), maximum=TRUE, tol=1e-10)$objective)
  function(mu) 2*w*(saturated - log_likelihood(y, mu))
}
of_residuals <- function(y, family, w, o, interval) {
  squares <- residuals_of(family, y, w)
  optimize(function(a) sum(squares(family$linkinv(a + o))), interval, tol=1e-10)$objective
}
case <- function(response, called, family, weights=NULL, offset="o", argument=NULL, rho=0, terms="1", interval=c(-3, 3)) {
  w <- if (is.null(weights)) rep(1, n) else d[[weights]]
  o <- eval(parse(text=offset), d) + if (is.null(argument)) 0 else eval(parse(text=argument), d)
  deviance <- if (inherits(family, "extended.family") || !missing(interval)) of_residuals(d[[response]], family, w, o, interval) else of_glm(d[[response]], family, w, o)
  list(response=response, family=called, terms=terms, weights=weights, offset=offset, argument=argument, rho=rho, null_deviance=deviance)
}
families <- list(
  list("y", "gaussian", gaussian()), list("y", "gaussian(log)", gaussian(log)), list("y", "gaussian(inverse)", gaussian(inverse)),
  list("bin", "binomial", binomial()), list("bin", "binomial(probit)", binomial(probit)), list("bin", "binomial(cloglog)", binomial(cloglog)),
  list("bin", "binomial(cauchit)", binomial(cauchit)), list("bin", "binomial(log)", binomial(log)), list("share", "quasibinomial", quasibinomial()),
  list("count", "poisson", poisson()), list("count", "poisson(identity)", poisson(identity)), list("count", "poisson(sqrt)", poisson(sqrt)),
  list("count", "quasipoisson", quasipoisson()), list("y", "Gamma(log)", Gamma(log)), list("y", "Gamma(inverse)", Gamma(inverse)),
  list("y", "Gamma(identity)", Gamma(identity)), list("y", "inverse.gaussian", inverse.gaussian()), list("y", "inverse.gaussian(inverse)", inverse.gaussian(inverse)),
  list("y", "inverse.gaussian(identity)", inverse.gaussian(identity)), list("y", "inverse.gaussian(log)", inverse.gaussian(log)),
  list("count", "Tweedie(p = 1.5)", Tweedie(1.5, link="log")), list("y", "quasi(log, mu^2)", quasi("log", "mu^2")), list("share", "quasi(logit, mu(1-mu))", quasi("logit", "mu(1-mu)")),
  list("y", "quasi(inverse, mu^3)", quasi("inverse", "mu^3")), list("count", "nb(theta = 3)", nb(theta=3)), list("count", "nb(theta = 3, link = sqrt)", nb(theta=3, link="sqrt")),
  list("y", "scat(theta = c(5, 0.25))", scat(theta=c(5, .25))), list("y", "scat(theta = c(5, 0.25), link = log)", scat(theta=c(5, .25), link="log")),
  list("share", "betar(theta = 9)", betar(theta=9)), list("share", "betar(theta = 9, link = probit)", betar(theta=9, link="probit")),
  list("y", "@inverse_gaussian.toml", inverse.gaussian(log)))
cases <- c(lapply(families, function(one) case(one[[1]], one[[2]], one[[3]])),
           lapply(families, function(one) case(one[[1]], one[[2]], one[[3]], weights="w", argument="log(e)/5", terms=if (one[[2]] == "binomial(log)") "1" else "x")),
           list(case("y", "gaussian", gaussian(), weights="w", offset="1000 + 100*x + o"), case("y", "gaussian", gaussian(), rho=.4),
                case("count", "poisson", poisson(), offset="6 + log(e)"), case("count", "poisson", poisson(), offset="-6 + log(e)"),
                case("count", "poisson(identity)", poisson(identity), offset="x*5", terms="x", interval=-5*min(d$x) + c(0, 9)),
                case("count", "poisson(identity)", poisson(identity), offset="-x*5", terms="x", interval=5*max(d$x) + c(0, 9))))
write.csv(d, "data.csv", row.names=FALSE, quote=FALSE)
text <- function(one) if (is.null(one)) '""' else if (is.character(one)) dQuote(one, FALSE) else format(one, digits=15)
writeLines(c("[", paste0(sapply(cases, function(one) paste0("{", paste0('"', names(one), '": ', sapply(one, text), collapse=", "), "}")),
                         c(rep(",", length(cases) - 1), "")), "]"), "null_deviances.json")
