# SPDX-License-Identifier: Apache-2.0
# Random models by tessera-fit beside mgcv's fits of them: linear predictors, standard errors and predictions on
# other rows. Gaussian models with nested smooths are held to gam(method="REML"), whose constraints they have, and
# others to bam, which may stop early where its criterion is flat, or at another of several optima: where they
# differ, the REML criterion at both smoothing parameters is the referee, and ours must not be worse. Of bs="cs" and
# "fs" mgcv has our choice of the functions that it leaves to rounding. Families with parameters have no joint criterion
# in bam: there one further iteration of it must not move our answer by more than its own, or the criterion by Laplace's
# approximation be the lower, with the likelihood of the parameters.
# For t2() gam has a constraint by the unpenalised columns alone, which changes what nested smooths lose: there bam is held to.
# Usage: Rscript random_models.R TESSERA_FIT COUNT [FIRST]; exits with 77 where there is no mgcv, and with 1, naming
# the seeds, if a model is worse. FIRST comes from the number of the week unless it is given.
arguments <- commandArgs(trailingOnly=TRUE)
if (!all(vapply(c("mgcv", "jsonlite"), requireNamespace, NA, quietly=TRUE))) {
  cat("R has no mgcv or jsonlite: nothing is compared\n")
  quit(status=77)
}
suppressMessages({library(mgcv); library(jsonlite); library(splines)})
tests <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value=TRUE), fixed=TRUE))
source(file.path(tests, "referee.R"))
source(file.path(tests, "../data/basis/own_bases.R"))
program <- arguments[1]
count <- as.integer(arguments[2])
first <- if (length(arguments) > 2) as.integer(arguments[3]) else 1000L * (as.integer(Sys.Date()) %/% 7L)
control <- gam.control(epsilon=1e-12, maxit=400)
pick <- function(...) { all <- c(...); all[sample.int(length(all), 1)] }
likely <- function(probability) runif(1) < probability

families <- list(gaussian=gaussian(), binomial=binomial(), poisson=poisson(), Gamma=Gamma(log), nb=nb(), quasipoisson=quasipoisson(),
                 "inverse.gaussian(log)"=inverse.gaussian(log), "poisson(sqrt)"=poisson(sqrt), tw=tw(), "Tweedie(p=1.4, link=log)"=Tweedie(1.4, link="log"),
                 scat=scat(), betar=betar(), "quasi(log, mu^2)"=quasi(log, "mu^2"))
draw <- function(family, eta) {
  n <- length(eta)
  switch(family, gaussian=eta + rnorm(n, sd=.4), binomial=rbinom(n, 1, plogis(eta - .5)), poisson=rpois(n, exp(.6*eta)),
         quasipoisson=rpois(n, exp(.6*eta)*rgamma(n, 2, 2)), Gamma=rgamma(n, 4, scale=exp(.5*eta)/4), nb=rnbinom(n, size=2, mu=exp(.6*eta)),
         "inverse.gaussian(log)"=exp(.3*eta + rnorm(n, sd=.3)), "poisson(sqrt)"=rpois(n, (2 + .4*eta)^2),
         tw=, "Tweedie(p=1.4, link=log)"=rTweedie(exp(.6*eta), p=1.45, phi=.8), scat=eta + .4*rt(n, 5),
         betar=pmin(pmax(rbeta(n, 6*plogis(eta - .5), 6*plogis(.5 - eta)), 1e-5), 1 - 1e-5), "quasi(log, mu^2)"=rgamma(n, 4, scale=exp(.5*eta)/4))
}
# The parameters of a model as mgcv has them while it estimates them, or NULL.
theta_of <- function(model) {
  value <- sapply(model$family_parameters, function(one) one$value)
  switch(model$family, nb=log(value[1]), tw=log((value[1] - value[3])/(value[4] - value[1])), scat=log(c(value[1] - value[3], value[2])),
         betar=log(value[1]))
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
# How far one iteration of bam moves the linear predictor at which a working model is.
moved <- function(eta, working) {
  end <- bam(working$formula, data=working$table, weights=working_weight, scale=working$scale, control=control, chunk.size=1e6)
  max(abs(fitted(end) - eta))
}
smooth_of <- function(variable) {
  sprintf(pick("s(%s)", sprintf('s(%%s, bs="%s", k=%d)', pick("tp", "ts", "cr", "cs", "ps"), sample(6:14, 1)), 's(%s, bs="cr", k=3*3)',
               sprintf('s(%%s, by=f, bs="%s", k=%d)', pick("tp", "cr", "ps"), sample(5:8, 1)), sprintf('s(%%s, by=v, bs="%s", k=8)', pick("cr", "ps", "tp")),
               sprintf('s(%%s, bs="ps", k=9, m=c(2,%d))', pick(1, 2)), "s(I(abs(%s)^.5), k=7)", 's(%s, by=as.numeric(f == "a"), k=6)',
               sprintf('s(%%s, k=8, bs="tp", m=%d)', pick(1, 2, 3)),
               pick("s(%s, k=5, fx=TRUE)", 's(%s, bs="cr", k=8, pc=.4)', 's(%s, bs="ps", k=9, m=c(1,1))', "s(%s, k=8, m=c(2,0))",
                    sprintf("s(%%s, k=8, sp=%g)", exp(sample(-2:4, 1))))), variable)
}
model_of <- function(seed) {
  set.seed(seed)
  n <- pick(250, 600, 1500, 4000)
  tied <- likely(.3)
  x <- if (likely(.3)) rexp(n) else runif(n)
  table <- data.frame(x=round(x, if (tied) 1 else 5), z=round(rnorm(n), 4), u=round(7*runif(n), 4), v=round(runif(n), 4),
                      f=factor(sample(c("a", "b", "c"), n, TRUE)), g=factor(sample(sprintf("g%02d", 1:20), n, TRUE)),
                      o=factor(sample(c("low", "mid", "high"), n, TRUE)), year=sample(2001:2005, n, TRUE), w=round(2*runif(n) + .3, 3))
  family <- pick("gaussian", names(families))
  table$y <- signif(draw(family, with(table, sin(2*pi*pmin(x, 1)) + .4*z^2/(1 + z^2) + c(-.3, 0, .4)[f] + .6*cos(2*pi*u/7) + .5*v +
                                             rnorm(20, sd=.3)[g])), 7)
  variables <- setdiff(sample(c("x", "z", "u"), sample(1:3, 1)), if (tied) "x")
  if (!length(variables)) variables <- "z"
  terms <- vapply(variables, smooth_of, "")
  surface <- NULL
  # Where a smooth is nested in it gam is mgcv's fit, which counts v twice where s(., by=v) and te(u, v) both have it.
  nested <- any(variables == "u")
  if (!nested || (family == "gaussian" && !any(grepl("by=v", terms))))
    surface <- if (likely(.3)) sprintf('te(u, v, bs="%s", k=4)', pick("cr", "ps", "tp"))
      else if (likely(.2)) pick("s(u, v)", "s(u, v, k=20)", "t2(u, v, k=4)", 't2(u, v, bs="tp", k=4, full=TRUE)')
      else if (likely(.2) && !any(variables == "u")) c('ti(u, bs="cr")', 'ti(v, bs="cr")', 'ti(u, v, bs="cr", k=4)')
  plain <- pick("f", "f", "o", "factor(year)", "v", "log(v + 1)", "poly(v, 2)", "f*v", "ordered(o)", "I(v^2)", "f:v", "pmin(v, .5)", "scale(v)",
                "cut(v, c(0, .3, .6, 1), include.lowest=TRUE)", "I(v > .5)", "1", 'relevel(f, "b")', "ns(v, 3)", "exp(-v)", "offset(v)",
                "round(v, 1)", "as.integer(f)")
  if (any(grepl("by=f", terms)) && !grepl("^f", plain)) plain <- c("f", plain)
  curves <- pick('s(x, g, bs="fs", k=5)', 's(x, g, bs="fs", xt="cr", k=4)', 's(z, g, bs="fs", m=1, k=5)', 's(u, g, bs="fs", xt=list(bs="cc"), k=5)',
                 's(g, z, bs="fs", xt="ps", k=5)', 's(f, x, bs="sz", k=5)', 's(z, o, bs="sz", xt="cr", k=5)', 's(f, o, u, bs="sz", xt="ps", k=5, id=1)')
  table$failures <- rbinom(n, 3, .5)
  response <- if (family == "binomial" && likely(.5)) "cbind(y, failures)" else "y"
  extended <- family %in% c("nb", "tw", "scat", "betar")
  select <- is.null(surface) && !extended && likely(.15)
  # bam leaves weights out of the working weights of scat.
  model <- list(table=table, family=family, select=select, gamma=if (!select && !extended && likely(.15)) 1.4 else 1,
                weights=if (likely(.3) && family != "scat") table$w, nested=!is.null(surface) && nested && !any(grepl("t2", surface)),
                formula=paste(response, "~", paste(c(plain, terms, surface, if (likely(.4)) 's(g, bs="re")' else if (likely(.3)) curves), collapse=" + ")))
  # gam has no rho, and bam none of other families; with it bam forgets to subtract an offset.
  model$rho <- if (family == "gaussian" && !select && !grepl("offset", model$formula) && !model$nested && likely(.4)) pick(-.3, .5, .9) else 0
  model
}

folder <- tempfile()
dir.create(folder)
file_of <- function(name) file.path(folder, name)
run <- function(...) system2(program, c(...), stdout=FALSE, stderr=file_of("log"))
predictions <- function(table) {
  write.csv(table, file_of("rows.csv"), row.names=FALSE)
  if (run("predict", file_of("model.json"), file_of("rows.csv"), "--se", "--out", file_of("predictions.csv"))) return(NULL)
  read.csv(file_of("predictions.csv"))
}
# What is worse; nothing if nothing is.
fault_of <- function(seed) {
  model <- model_of(seed)
  table <- model$table
  what <- paste0("seed ", seed, ", ", nrow(table), " rows, ", model$family, if (!is.null(model$weights)) ", weights", if (model$select) ", select",
                 if (model$gamma != 1) ", gamma", if (model$rho != 0) paste0(", rho ", model$rho), ": ", model$formula)
  table$prior <- if (is.null(model$weights)) 1 else model$weights
  formula <- as.formula(with_chosen_functions(model$formula))
  family <- families[[model$family]]
  by_gam <- function(family, ...)
    gam(formula, family=family, data=table, weights=prior, control=control, method="REML", select=model$select, gamma=model$gamma, ...)
  table$start <- seq_len(nrow(table)) %% 40 == 1
  by_bam <- function(...) bam(formula, family=family, data=table, weights=prior, control=control, chunk.size=1e6, select=model$select,
                              gamma=model$gamma, rho=model$rho, AR.start=start, ...)
  theirs <- tryCatch(if (model$family == "gaussian" && model$nested) by_gam(family) else by_bam(), error=function(e) NULL)
  if (is.null(theirs) || !theirs$converged) {
    counts["not fitted by mgcv"] <<- counts["not fitted by mgcv"] + 1
    return(NULL)
  }
  write.csv(cbind(model$table, start=table$start), file_of("table.csv"), row.names=FALSE)
  if (run("fit", file_of("table.csv"), "--formula", shQuote(model$formula), "--family", shQuote(model$family), "--device", "cpu",
          if (!is.null(model$weights)) c("--weights", "w"), if (model$select) "--select", if (model$gamma != 1) c("--gamma", model$gamma),
          if (model$rho != 0) c("--rho", model$rho, "--ar-start", "start"), "--out", file_of("model.json"))) {
    last <- tail(readLines(file_of("log")), 1)
    # A column of te() that a parametric term or a smooth with a numeric by= has too: mgcv leaves out one of them.
    if (!grepl("is linearly dependent on", last)) return(paste0(what, "\n  ", last))
    counts["refused as dependent"] <<- counts["refused as dependent"] + 1
    return(NULL)
  }
  others <- model$table[sample(nrow(table), 50), ]
  others$z <- 1.1*others$z
  here <- predictions(model$table)
  there <- predictions(others)
  if (is.null(here) || is.null(there)) return(paste0(what, "\n  ", tail(readLines(file_of("log")), 1)))
  expected <- predict(theirs, se.fit=TRUE)
  range <- diff(range(expected$fit))
  differences <- c(fit=max(abs(here[[1]] - expected$fit))/range, se=max(abs(here[[2]]/expected$se.fit - 1))/10,
                   predictions=max(abs(there[[1]] - predict(theirs, others)))/range)
  if (all(differences < 1e-5)) return(NULL)
  counts["settled by the referee"] <<- counts["settled by the referee"] + 1
  saved <- fromJSON(file_of("model.json"), simplifyVector=FALSE)
  ours <- exp(unlist(lapply(saved$terms, function(term) term$log_sp)))
  if (inherits(family, "extended.family")) {
    their_theta <- theirs$family$getTheta()  # a working model sets it
    at_ours <- working_model(here[[1]], theta_of(saved), family, formula, table)
    at_theirs <- working_model(as.numeric(expected$fit), their_theta, family, formula, table)
    moves <- c(moved(here[[1]], at_ours), moved(expected$fit, at_theirs))/range
    if (moves[1] < max(moves[2], 1e-6)) return(NULL)
    setup <- by_bam(fit=FALSE)
    at <- function(eta, sp, theta, scale) criterion_at(eta, sp, setup, theirs, model$gamma, theta, scale)
    excess <- at(here[[1]], ours, theta_of(saved), at_ours$scale) -
      at(expected$fit, theirs$sp, their_theta, at_theirs$scale)
    referee <- paste("one iteration of bam moves it by", signif(moves[1], 2), "and bam's answer by", signif(moves[2], 2))
  } else {
    own <- if (is.null(theirs$full.sp)) theirs$sp else theirs$full.sp
    if (model$rho != 0) {
      by <- if (model$family == "gaussian" && model$nested) function(sp) by_gam(family, sp=sp) else function(sp) by_bam(sp=sp)
      excess <- by(ours)$gcv.ubre - by(own)$gcv.ubre
    } else {
      setup <- if (model$family == "gaussian" && model$nested) by_gam(family, fit=FALSE) else by_bam(fit=FALSE)
      at <- function(eta, sp) criterion_at(as.numeric(eta), sp, setup, theirs, model$gamma)
      excess <- at(here[[1]], ours) - at(expected$fit, own)
    }
    referee <- NULL
  }
  if (excess < 1e-4) return(NULL)
  referee <- paste(c(referee, paste("REML criterion higher by", signif(excess, 2))), collapse=", ")
  paste0(what, "\n  ", paste(names(differences), signif(differences, 2), collapse=", "), "; ", referee)
}
counts <- c("not fitted by mgcv"=0, "refused as dependent"=0, "settled by the referee"=0)
faults <- 0
for (seed in first + seq_len(count) - 1L) {
  fault <- suppressWarnings(fault_of(seed))
  if (!is.null(fault)) {
    cat(fault, "\n")
    faults <- faults + 1
  }
}
cat(faults, "of", count, "models are worse, from seed", first, "on;", paste(counts, names(counts), collapse=", "), "\n")
quit(status=as.integer(faults > 0))
