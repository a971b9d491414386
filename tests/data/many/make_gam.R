# SPDX-License-Identifier: Apache-2.0
# Random responses over one table, with the models that gam(method = "REML") fits to each: R 4.2.2, mgcv 1.8-41.
suppressMessages(library(mgcv))
set.seed(52)
n <- 240
d <- data.frame(x = round(runif(n), 4), z = round(runif(n), 4), f = factor(sample(c("a", "b", "c"), n, TRUE)), o = round(rnorm(n, 0, .3), 3), w = round(runif(n, .5, 2), 2))
d$x1 <- d$x; d$x2 <- d$x; d$l1 <- as.numeric(d$f == "a"); d$l2 <- as.numeric(d$f != "a")
grid <- data.frame(x = seq(.03, .97, length.out = 9), z = rev(seq(.1, .9, length.out = 9)), f = rep(c("a", "b", "c"), 3), o = seq(-.4, .4, length.out = 9))
grid$x1 <- grid$x; grid$x2 <- grid$x; grid$l1 <- as.numeric(grid$f == "a"); grid$l2 <- as.numeric(grid$f != "a")
exact <- gam.control(epsilon = 1e-12, newton = list(conv.tol = 1e-10, maxNstep = 5, maxSstep = 2, maxHalf = 30, use.svd = FALSE))
draw <- function(family, eta) switch(family,
  nb = rnbinom(n, mu = exp(eta + .5), size = exp(runif(1, -1, 2))), quasipoisson = rnbinom(n, mu = exp(eta + .5), size = 2), poisson = rpois(n, exp(eta)), quasibinomial = round(rbeta(n, 3 * plogis(eta), 3 - 3 * plogis(eta)), 3), binomial = rbinom(n, 1, plogis(eta)),
  gaussian = round(rnorm(n, eta, .5), 3), gamma = round(rgamma(n, 3, scale = exp(eta) / 3), 3) + .001)
families <- list(nb = nb(), poisson = poisson(), binomial = binomial(), gaussian = gaussian(), gamma = Gamma(link = "log"), quasipoisson = quasipoisson(), quasibinomial = quasibinomial())
fitted <- function(family, terms, weights, responses) lapply(seq_len(responses), function(i) {
  a <- rnorm(3)
  d$y <- draw(family, a[1] * sin(6 * d$x) + a[2] * d$z + .3 * a[3] * as.integer(d$f) + d$o)
  m <- suppressWarnings(gam(as.formula(paste("y ~", terms)), data = d, family = families[[family]], weights = if (weights) d$w else NULL, method = "REML", control = exact))
  s <- summary(m)
  link <- predict(m, grid, type = "link", se.fit = TRUE)
  list(y = d$y, coef = unname(coef(m)), se = unname(sqrt(diag(vcov(m)))), sp = unname(m$sp), edf = sum(m$edf), theta = if (family == "nb") m$family$getTheta(TRUE) else NULL,
       scale = m$sig2, deviance = m$deviance, deviance_explained = s$dev.expl, aic = m$aic, reml = as.numeric(m$gcv.ubre), p_smooths = unname(s$s.table[, 4]), ref_df = unname(s$s.table[, 2]), link = unname(c(link$fit)), link_se = unname(c(link$se.fit)), p_coefficients = unname(s$p.pv), p_terms = as.list(s$pTerms.pv))
})
case <- function(family, terms, weights = FALSE, responses = 4)
  list(family = family, terms = terms, weights = weights, names = names(coef(gam(as.formula(paste("x ~", gsub("offset\\(o\\)", "1", terms))), data = d))), responses = fitted(family, terms, weights, responses))
cases <- list(
  case("nb", "f + s(x, by = f, bs = \"cr\", k = 6) + offset(o)"), case("nb", "s(x1, by = l1, bs = \"cr\", k = 5, id = 1) + s(x2, by = l2, bs = \"cr\", k = 5, id = 1) - 1 + offset(o)", responses = 6),
  case("poisson", "s(x, bs = \"cr\", k = 7) + z + f"), case("poisson", "te(x, z, k = 4) + offset(o)", responses = 3), case("binomial", "s(x, bs = \"ps\", k = 8) + s(f, bs = \"re\")"),
  case("gaussian", "s(x, bs = \"cr\", k = 8) + s(z, bs = \"cr\", k = 5) + f", weights = TRUE), case("gamma", "s(x, bs = \"cr\", k = 8) + z"), case("nb", "z + f + offset(o)", responses = 2),
  case("quasipoisson", "f + s(x, by = f, bs = \"cr\", k = 6) + offset(o)"), case("quasibinomial", "s(x, bs = \"cr\", k = 8) + z", weights = TRUE))
writeLines(jsonlite::toJSON(list(table = as.list(transform(d, f = as.character(f))), grid = as.list(grid), cases = cases), digits = NA, auto_unbox = TRUE, null = "null"), "gam.json")
