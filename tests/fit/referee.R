# SPDX-License-Identifier: Apache-2.0
# The referee between two fits of a model, for compare_calls.R, random_models.R and tests/r/random_objects.R.
control <- gam.control(epsilon=1e-12, maxit=400)

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

# The working model of bam at a linear predictor: parameters at its means, and weights of expected information.
working_model <- function(eta, theta, family, formula, table) {
  family <- fix.family.link(family)
  family$putTheta(theta)
  mu <- family$linkinv(eta)
  scale <- if (is.null(family$scale)) 1 else family$scale
  response <- eval(formula[[2]], table)
  likeliest <- mgcv:::estimate.theta(theta, family, response, mu, scale=scale, wt=table$prior)
  if (scale < 0) scale <- exp(likeliest[family$n.theta + 1])
  step <- mgcv:::dDeta(response, mu, table$prior, theta=likeliest[seq_len(family$n.theta)], family, 0)
  table$working <- as.numeric(eta - step$Deta.EDeta2)
  table$working_weight <- as.numeric(step$EDeta2/2)
  formula[[2]] <- quote(working)
  list(formula=formula, table=table, scale=scale)
}
# How far one iteration of bam moves the linear predictor of a working model.
moved <- function(eta, working, knots) {
  end <- bam(working$formula, data=working$table, weights=working_weight, scale=working$scale, knots=knots, control=control,
             chunk.size=1e6)
  max(abs(fitted(end) - eta))
}

# How mgcv fits a random model: by `gam`, by `bam`, or by the one of them that has the model's constraints, `best`. `own`
# are smooths that bam has in the place of those with their labels.
fits_of <- function(model, knots=NULL, own=list()) {
  table <- model$table
  weighted <- !is.null(model$weights)
  table$prior <- if (weighted) model$weights else 1
  table$start <- starts_of(table)
  formula <- as.formula(with_chosen_functions(model$formula))
  family <- families[[model$family]]
  by_gam <- function(...)
    gam(formula, family=family, data=table, weights=if (weighted) prior, control=control, method="REML", select=model$select,
        gamma=model$gamma, knots=knots, ...)
  bam_of <- function(...)
    bam(formula, family=family, data=table, weights=if (weighted) prior, control=control, chunk.size=1e6, select=model$select,
        gamma=model$gamma, knots=knots, rho=model$rho, AR.start=if (model$rho != 0) start, ...)
  by_bam <- function(fit=TRUE, ...) {
    if (!length(own)) return(bam_of(fit=fit, ...))
    setup <- bam_of(fit=FALSE, ...)
    for (one in own) {
      at <- match(one$label, vapply(setup$smooth, `[[`, "", "label"))
      place <- c("first.para", "last.para")  # bam may have more columns before it
      one[place] <- setup$smooth[[at]][place]
      setup$smooth[[at]] <- one
      setup$X[, one$first.para:one$last.para] <- PredictMat(one, setup$mf)
    }
    if (fit) bam_of(G=setup) else setup
  }
  list(model=model, formula=formula, family=family, table=table, knots=knots, gam=by_gam, bam=by_bam,
       best=if (family$family == "gaussian" && model$nested) by_gam else by_bam)
}

# bam's edf2 for gam's fit of a gaussian model: by bam's functions, in the columns of gam, whose constraints of nested
# smooths bam has not. gam's own edf2 also has the second-order term of the uncertainty of smoothing parameters, and a
# prior of theirs.
edf2_of_bam <- function(fits, fit) {
  setup <- fits$gam(fit=FALSE)
  root <- sqrt(fit$prior.weights)
  z <- root*(fit$y - fit$offset)
  decomposed <- qr(root*setup$X, LAPACK=TRUE)
  R <- qr.R(decomposed)[, order(decomposed$pivot)]
  f <- qr.qty(decomposed, z)[seq_len(ncol(R))]
  Sl <- mgcv:::Sl.setup(setup)
  prepared <- mgcv:::Sl.Xprep(Sl, R)
  found <- mgcv:::fast.REML.fit(prepared$Sl, prepared$X, f, rho=log(fit$sp), L=setup$L, rho.0=setup$lsp0,
                                log.phi=log(fit$sig2), phi.fixed=FALSE, rss.extra=sum(z^2) - sum(f^2), nobs=length(z),
                                Mp=prepared$Mp, gamma=fits$model$gamma)
  mgcv:::Sl.postproc(Sl, found, prepared$undrop, R, cov=TRUE, scale=exp(tail(found$rho, 1)), L=setup$L)$edf2
}

# By how much the answer `eta`, with smoothing parameters `sp` and parameters `theta` of the family, is worse than mgcv's
# fit `theirs`, as text; NULL if it is not.
worse_by <- function(fits, theirs, eta, sp, theta) {
  their_eta <- as.numeric(predict(theirs))
  gamma <- fits$model$gamma
  referee <- NULL
  if (inherits(fits$family, "extended.family")) {
    their_theta <- theirs$family$getTheta()  # a working model sets it
    at_ours <- working_model(eta, theta, fits$family, fits$formula, fits$table)
    at_theirs <- working_model(their_eta, their_theta, fits$family, fits$formula, fits$table)
    moves <- c(moved(eta, at_ours, fits$knots), moved(their_eta, at_theirs, fits$knots))/diff(range(their_eta))
    if (moves[1] < max(moves[2], 1e-6)) return(NULL)
    setup <- fits$bam(fit=FALSE)
    at <- function(eta, sp, theta, scale) criterion_at(eta, sp, setup, theirs, gamma, theta, scale)
    excess <- at(eta, sp, theta, at_ours$scale) - at(their_eta, theirs$sp, their_theta, at_theirs$scale)
    referee <- paste("one iteration of bam moves it by", signif(moves[1], 2), "and bam's answer by", signif(moves[2], 2))
  } else {
    own <- if (is.null(theirs$full.sp)) theirs$sp else theirs$full.sp
    if (fits$model$rho != 0) {
      excess <- fits$best(sp=sp)$gcv.ubre - fits$best(sp=own)$gcv.ubre
    } else {
      setup <- fits$best(fit=FALSE)
      excess <- criterion_at(eta, sp, setup, theirs, gamma) - criterion_at(their_eta, own, setup, theirs, gamma)
    }
  }
  if (excess >= 1e-4) paste(c(referee, paste("REML criterion higher by", signif(excess, 2))), collapse=", ")
}
