# SPDX-License-Identifier: Apache-2.0
# The referee between two fits of a model, for compare_calls.R and random_models.R.

# The log likelihood of a family with parameters.
log_likelihood <- function(family, y, mu, weights, theta, scale) {
  bound <- function(name) get(name, environment(family$dev.resids))
  own <- switch(tolower(sub("[ (].*", "", family$family)),
                negative=dnbinom(y, size=exp(theta), mu=mu, log=TRUE),
                tweedie=ldTweedie(y, mu, theta=theta, rho=log(scale), a=bound(".a"), b=bound(".b"))[, 1],
                scaled=dt((y - mu)/exp(theta[2]), exp(theta[1]) + bound(".min.df"), log=TRUE) - theta[2],
                beta=dbeta(y, mu*exp(theta), (1 - mu)*exp(theta), log=TRUE))
  sum(weights*own)
}

# The REML criterion of Laplace's approximation, with the expected information, at a linear predictor and its smoothing
# parameters: that of the working model there, by bam's functions, with the deviance in place of its sum of squares.
# `setup` is the result of gam or bam with fit=FALSE, and `fit` its fit. gam's own decomposition is not used: with
# smoothing parameters of 1e6 and more its criterion jumps by 0.5.
# A family with parameters has those of `theta`, its scale, and its likelihood in place of the deviance.
criterion_at <- function(eta, sp, setup, fit, gamma, theta=NULL, scale=1) {
  eta <- as.numeric(eta)
  family <- fit$family
  mu <- family$linkinv(eta)
  if (is.null(theta)) {
    slope <- family$mu.eta(eta)
    root <- sqrt(fit$prior.weights*slope^2/family$variance(mu))
    residual <- root*(fit$y - mu)/slope
    deviance <- sum(family$dev.resids(fit$y, mu, fit$prior.weights))
  } else {
    step <- mgcv:::dDeta(fit$y, mu, fit$prior.weights, theta=theta, fix.family.link(family), 0)
    root <- sqrt(step$EDeta2/2)
    residual <- -root*step$Deta.EDeta2
    deviance <- -2*scale*log_likelihood(family, fit$y, mu, fit$prior.weights, theta, scale) - scale*length(eta)*log(2*pi*scale)
  }
  X <- root*model.matrix(fit)
  z <- root*(eta - fit$offset) + residual
  # A parametric column that depends on unpenalised columns becomes independent by another row with a response of 0.
  Sl <- mgcv:::Sl.setup(setup)
  reparametrised <- mgcv:::Sl.initial.repara(Sl, X, inverse=FALSE, both.sides=FALSE, cov=FALSE)
  parametric <- seq_len(setup$nsdf)
  last <- c(setdiff(seq_len(ncol(X)), parametric), parametric)
  found <- qr(rbind(reparametrised/norm(reparametrised, "F"), attr(Sl, "E"))[, last])
  aliased <- intersect(last[found$pivot[-seq_len(found$rank)]], parametric)
  X[, aliased] <- 0
  X <- rbind(X, diag(ncol(X))[aliased, ])
  z <- c(z, numeric(length(aliased)))
  prepared <- mgcv:::Sl.Xprep(Sl, X)
  known <- !is.null(theta) || family$family %in% c("binomial", "poisson")
  score <- function(log_scale)
    mgcv:::Sl.fit(prepared$Sl, prepared$X, z, log(sp), fixed=rep(FALSE, length(sp)), log.phi=log_scale, phi.fixed=known,
                  rss.extra=deviance - sum(residual^2), nobs=length(eta), Mp=prepared$Mp - length(aliased), gamma=gamma)$reml
  if (known) return(score(log(scale)))
  start <- log(deviance/length(eta))
  optimize(score, start + c(-2, 2), tol=1e-8)$objective
}
