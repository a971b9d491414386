# SPDX-License-Identifier: Apache-2.0
# Compares tessera-fit check with k.check, residuals and concurvity of mgcv, at equal coefficients:
#   Rscript tests/fit/compare_checks.R build/default/bin/tessera-fit [third | MODEL...]
# For each model tessera-fit's coefficients are put into the object of gam(). Its model matrix must be the same, except
# for signs and the rotation of factor smooths, which mgcv leaves to a decomposition.
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE), fixed = TRUE)), "comparison.R"))

set.seed(45)
n <- 500
d <- data.frame(x = runif(n), z = rnorm(n), u = runif(n, 0, 10), e = runif(n, 1, 3), pw = rexp(n) + .2)
d$w <- d$x + runif(n) * .3
d$f <- factor(sample(c("a", "b", "c"), n, TRUE)); d$g <- factor(sample(sprintf("g%02d", 1:9), n, TRUE))
eta <- sin(6 * d$x) + .3 * d$z + .2 * as.numeric(d$f) + rnorm(9)[d$g] * .3
d$y <- eta + rnorm(n) * .4
d$cnt <- rpois(n, exp(.5 + eta / 2)); d$bin <- rbinom(n, 1, plogis(eta)); d$pos <- rgamma(n, 3, 3 / exp(eta / 2))
d$prop <- pmin(pmax(rbeta(n, 4 * plogis(eta), 4 * plogis(-eta)), 1e-4), 1 - 1e-4)
d$tw <- rTweedie(exp(eta / 2), p = 1.5, phi = 1); d$nb <- rnbinom(n, size = 2, mu = exp(.5 + eta / 2))
d$t5 <- eta + rt(n, 5) * .3
d$z[c(7, 90)] <- NA
write.csv(d, "d.csv", row.names = FALSE)

models <- list(tp = y ~ s(x) + s(w), cr = y ~ f + s(x, bs = "cr") + s(z, bs = "cs"), ps = y ~ s(x, bs = "ps") + s(w, bs = "ps"), cc = y ~ s(u, bs = "cc") + s(x),
  te = y ~ te(x, z, k = 5) + s(w), ti = y ~ ti(x) + ti(w) + ti(x, w, k = 4), t2 = y ~ t2(x, u, k = 4), te21 = y ~ te(x, w, u, d = c(2, 1), k = c(8, 4)),
  tp2 = y ~ s(x, w, k = 15) + s(u), ds = y ~ s(x, z, bs = "ds", m = c(1, .5), k = 15), gp = y ~ s(x, bs = "gp") + f, by = y ~ f + s(x, by = f), byn = y ~ s(x, by = z) + s(w),
  teby = y ~ f + te(x, w, by = f, k = 4), tebyn = y ~ te(x, w, by = u, k = 4), re = y ~ s(x) + s(g, bs = "re"), ren = y ~ s(w) + s(x, bs = "re") + s(x, u, bs = "re"), reg = y ~ s(x) + s(g, x, bs = "re"),
  fs = y ~ s(w) + s(x, g, bs = "fs", k = 4), sz = y ~ s(x) + s(f, x, bs = "sz", k = 5), tere = y ~ s(w) + te(x, g, bs = c("cr", "re"), k = c(4, 9)),
  para = y ~ f * z + poly(w, 2) + s(x), noint = y ~ f + s(x) - 1, weights = y ~ s(x) + s(w), offset = y ~ offset(e) + s(x), subset = y ~ s(x) + s(w))
families <- list(poisson = list(cnt ~ s(x) + f + offset(log(e)), poisson()), binomial = list(bin ~ s(x) + w, binomial()), Gamma = list(pos ~ s(x) + f, Gamma(log)),
  nb = list(nb ~ s(x) + f, nb()), tw = list(tw ~ s(x) + f, tw()), scat = list(t5 ~ s(x) + f, scat()), betar = list(prop ~ s(x) + f, betar()), quasipoisson = list(cnt ~ s(x) + f, quasipoisson()))
arguments <- list(weights = c("--weights", "pw"), subset = c("--subset", "x > 0.1"))
predicted <- function(...) as.matrix(answer("predict", "m.json", "d.csv", ...))
compare <- function(name, formula, family = gaussian(), spelled = "gaussian") {
  more <- arguments[[name]]; rows <- if (name == "subset") d$x > .1 else rep(TRUE, n)
  run("fit", "d.csv", "--formula", paste(deparse(formula, width.cutoff = 500), collapse = ""), "--family", spelled, "--out", "m.json", "--device", "cpu", more)
  json <- fromJSON("m.json", simplifyVector = FALSE)
  own <- d[rows, ]
  m <- suppressWarnings(if (name == "weights") gam(formula, data = own, family = family, method = "REML", weights = pw, sp = sp_of(json))
    else gam(formula, data = own, family = family, method = "REML", sp = sp_of(json)))
  used <- rows & complete.cases(d[intersect(all.vars(formula), names(d))])
  X <- predict(m, type = "lpmatrix"); ours <- predicted("--type", "lpmatrix")[used, , drop = FALSE]
  back <- back_of(m, ours, X)
  out <- c(matrix = distance(X %*% back, ours, "lpmatrix", max(abs(X))))
  m <- with_our_coefficients(m, json, back)
  if (!is.null(theta_of(json))) m$family$putTheta(theta_of(json))
  m$linear.predictors <- predicted("--type", "link")[used, 1]; m$fitted.values <- predicted("--type", "response")[used, 1]
  run("check", "m.json", "d.csv", "--json", "--autocorrelation", "5", "--permutations", "2000"); found <- fromJSON("log")
  r <- residuals(m); k <- k.check(m, n.rep = 2000)
  out["k-index"] <- distance(found$bases$k_index, k[, 3], "k-index")
  out["p"] <- distance(found$bases$p_value, k[, 4], "p", 1)
  if (!identical(found$bases$term, rownames(k)) || any(found$bases$coefficients != k[, 1])) stop("bases: ", toString(found$bases$term))
  out["residuals"] <- max(distance(unlist(found$residuals[c("min", "quartiles", "max")]), quantile(r), "quartiles", max(abs(r))),
    distance(found$residuals$mean, mean(r), "mean", sd(r)), distance(found$residuals$standard_deviation, sd(r), "sd"),
    distance(found$residuals$skewness, mean((r - mean(r))^3) / mean((r - mean(r))^2)^1.5, "skewness", 1),
    distance(found$residuals$kurtosis, mean((r - mean(r))^4) / mean((r - mean(r))^2)^2, "kurtosis"))
  if (!spelled %in% c("scat", "betar")) out["pearson"] <- distance(found$dispersion$pearson, sum(residuals(m, "pearson")^2) / (length(r) - json$edf_total), "pearson")
  if (spelled %in% c("poisson", "nb", "tw")) {
    zero <- switch(spelled, poisson = dpois(0, m$fitted.values), nb = dnbinom(0, mu = m$fitted.values, size = json$family_parameters[[1]]$value),
      tw = { p <- json$family_parameters[[1]]$value; exp(-m$fitted.values^(2 - p) / json$scale / (2 - p)) })
    out["zeros"] <- max(distance(found$zeros$observed, sum(m$y == 0), "zeros"), distance(found$zeros$expected, sum(zero), "zeros"), distance(found$zeros$standard_deviation, sqrt(sum(zero * (1 - zero))), "zeros"))
  }
  own <- found$quantile_residuals
  if (!is.null(own)) {
    # Residuals of a discrete family are random between two numbers.
    mu <- m$fitted.values; w <- m$prior.weights; theta <- sapply(json$family_parameters, function(one) one$value); y <- m$y; s <- json$scale
    P <- switch(sub("\\(.*", "", spelled), gaussian = function(y) pnorm(y, mu, sqrt(s / w)), Gamma = function(y) pgamma(y, w / s, scale = mu * s / w),
      poisson = function(y) ppois(y, mu), nb = function(y) pnbinom(y, mu = mu, size = theta[1]), binomial = function(y) pbinom(y, 1, mu),
      scat = function(y) pt((y - mu) / theta[2], theta[1]), betar = function(y) pbeta(y, mu * theta[1], (1 - mu) * theta[1]))
    discrete <- spelled %in% c("poisson", "nb", "binomial"); count <- length(y)
    if (!is.null(P)) out["quantiles"] <- if (discrete) max(0, sort(qnorm(P(y - 1))) - own$residuals, own$residuals - sort(qnorm(P(y)))) else
      distance(own$residuals, sort(qnorm(P(y))), "quantile residuals", 1)
    out["band"] <- max(distance(own$lower, qnorm(qbeta(.025, seq_len(count), count:1)), "band", 1), distance(own$upper, qnorm(qbeta(.975, seq_len(count), count:1)), "band", 1), distance(own$normal, qnorm(((1:count) - .5) / count), "band", 1))
    if (ks.test(own$residuals, "pnorm")$p.value < 1e-4) stop("quantile residuals are not normal")
  }
  lagged <- sapply(1:5, function(l) mean(r[-seq_len(l)] * head(r, -l)) / mean(r^2))
  out["lags"] <- distance(found$autocorrelation, lagged, "lags", 1)
  out["concurvity"] <- concurvity_apart(m, X, found$concurvity)
  out
}
worst <- 0
report <- function(name, ...) {
  if (!is_taken(name)) return(invisible())
  found <- try(compare(name, ...), silent = TRUE)
  if (inherits(found, "try-error")) { cat(sprintf("%-9s %s", name, found)); worst <<- Inf; return(invisible()) }
  # p-values within the Monte Carlo error (five standard deviations) of 2,000 permutations.
  if (found["p"] > 5 * sqrt(2 * .25 / 2000)) { cat("p-values differ\n"); worst <<- Inf }
  worst <<- max(worst, found[setdiff(names(found), c("p", "concurvity"))] / 1e-8, found["concurvity"] / 1e-6)
  cat(sprintf("%-9s", name), sprintf("%s %.0e", names(found), found), "\n")
}
for (name in names(models)) report(name, models[[name]])
for (name in names(families)) report(name, families[[name]][[1]], families[[name]][[2]], if (name == "Gamma") "Gamma(log)" else name)
cat(if (worst <= 1) "all agree to 1e-8, concurvity to 1e-6\n" else sprintf("worst: %.1e times that\n", worst))
quit(status = if (worst <= 1) 0 else 1)
