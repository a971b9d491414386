# SPDX-License-Identifier: Apache-2.0
# Random models for random_models.R, random_after.R and tests/r/random_objects.R: a table and a model, from a seed.
library(splines)
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
# `more`: texts of further smooths.
smooth_of <- function(variable, more=character()) {
  sprintf(pick("s(%s)", sprintf('s(%%s, bs="%s", k=%d)', pick("tp", "ts", "cr", "cs", "ps"), sample(6:14, 1)), 's(%s, bs="cr", k=3*3)',
               sprintf('s(%%s, by=f, bs="%s", k=%d)', pick("tp", "cr", "ps"), sample(5:8, 1)), sprintf('s(%%s, by=v, bs="%s", k=8)', pick("cr", "ps", "tp")),
               sprintf('s(%%s, bs="ps", k=9, m=c(2,%d))', pick(1, 2)), "s(I(abs(%s)^.5), k=7)", 's(%s, by=as.numeric(f == "a"), k=6)',
               sprintf('s(%%s, k=8, bs="tp", m=%d)', pick(1, 2, 3)),
               pick("s(%s, k=5, fx=TRUE)", 's(%s, bs="cr", k=8, pc=.4)', 's(%s, bs="ps", k=9, m=c(1,1))', "s(%s, k=8, m=c(2,0))",
                    sprintf("s(%%s, k=8, sp=%g)", exp(sample(-2:4, 1)))), more), variable)
}
# `surfaces`: texts of further smooths of several variables.
model_of <- function(seed, more=character(), surfaces=character(), sizes=c(250, 600, 1500, 4000)) {
  set.seed(seed)
  n <- pick(sizes)
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
  terms <- vapply(variables, smooth_of, "", more)
  surface <- NULL
  # If a smooth is nested in it mgcv's fit is gam's, which counts v twice if s(., by=v) and te(u, v) both have it.
  nested <- any(variables == "u")
  if (!nested || (family == "gaussian" && !any(grepl("by=v", terms))))
    surface <- if (likely(.3)) sprintf('te(u, v, bs="%s", k=4)', pick("cr", "ps", "tp"))
      else if (likely(.2)) pick("s(u, v)", "s(u, v, k=20)", "t2(u, v, k=4)", 't2(u, v, bs="tp", k=4, full=TRUE)', surfaces)
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
  # bam omits weights from the working weights of scat.
  model <- list(table=table, family=family, select=select, gamma=if (!select && !extended && likely(.15)) 1.4 else 1,
                weights=if (likely(.3) && family != "scat") table$w, nested=!is.null(surface) && nested && !any(grepl("t2", surface)),
                formula=paste(response, "~", paste(c(plain, terms, surface, if (likely(.4)) 's(g, bs="re")' else if (likely(.3)) curves), collapse=" + ")))
  # gam has no rho, and bam has it for no other family; with rho bam forgets to subtract an offset.
  model$rho <- if (family == "gaussian" && !select && !grepl("offset", model$formula) && !model$nested && likely(.4)) pick(-.3, .5, .9) else 0
  model
}
described <- function(model)
  paste0(nrow(model$table), " rows, ", model$family, if (!is.null(model$weights)) ", weights", if (model$select) ", select",
         if (model$gamma != 1) ", gamma", if (model$rho != 0) paste0(", rho ", model$rho), ": ", model$formula)
# The rows at which a series of residuals begins.
starts_of <- function(table) seq_len(nrow(table)) %% 40 == 1
# The arguments of its fit, for a table with these rows in a column "start".
arguments_of <- function(model)
  c("--formula", model$formula, "--family", model$family, "--device", "cpu", if (!is.null(model$weights)) c("--weights", "w"),
    if (model$select) "--select", if (model$gamma != 1) c("--gamma", model$gamma), if (model$rho != 0) c("--rho", model$rho, "--ar-start", "start"))
# The first seed of a run: as given, or from the number of the week.
first_seed <- function(given) if (is.na(given)) 1000L * (as.integer(Sys.Date()) %/% 7L) else as.integer(given)
