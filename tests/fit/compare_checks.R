# SPDX-License-Identifier: Apache-2.0
# Compares tessera-fit check with k.check, residuals and concurvity of mgcv, at equal coefficients:
#   Rscript tests/fit/compare_checks.R build/default/bin/tessera-fit
# For each model tessera-fit's coefficients are put into the object of gam(), whose model matrix must be the same but for the
# signs, and of factor smooths the rotation, that mgcv leaves to a decomposition.
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
# The parameters that the families of mgcv have, of those that tessera-fit reports.
theta_of <- list(nb = function(p) log(p[1]), tw = function(p) log((p[1] - 1.01) / (1.99 - p[1])), scat = function(p) c(log(p[1] - 3), log(p[2])), betar = function(p) log(p[1]))

# mgcv's component "para" is the first column alone, by `1:0` in the place of all parametric ones.
text <- deparse(mgcv:::concurvity)
stopifnot(sum(grepl("stop <- c(min(start) - 1, stop)", text, fixed = TRUE)) == 1)
concurvity <- eval(parse(text = gsub("stop <- c(min(start) - 1, stop)", "stop <- c(min(start[-1]) - 1, stop)", text, fixed = TRUE)))
# Where the explaining columns are dependent, mgcv's decomposition has a direction that rounding chooses: then by projection.
projected <- function(X, j, i, coef) {
  q <- qr(scale(X[, i, drop = FALSE], FALSE, sqrt(colSums(X[, i, drop = FALSE]^2))), tol = 1e-10); R <- qr.R(qr(X[, j, drop = FALSE], tol = 0))
  if (q$rank == length(i)) return(NULL)
  top <- crossprod(qr.Q(q)[, seq_len(q$rank), drop = FALSE], X[, j, drop = FALSE])
  c(svd(forwardsolve(t(R), t(top)))$d[1]^2, sum((top %*% coef[j])^2) / sum((R %*% coef[j])^2), sum(top^2) / sum(R^2))
}
run <- function(...) { arguments <- c(...); status <- system2(program, shQuote(arguments), stdout = "log", stderr = "err")
  if (status != 0) stop(paste(c(arguments[1], readLines("err")), collapse = " ")) }
predicted <- function(...) { run("predict", "m.json", "d.csv", "--out", "p.csv", ...); as.matrix(read.csv("p.csv", check.names = FALSE)) }
distance <- function(ours, theirs, what, size = abs(theirs)) {
  if (length(ours) != length(theirs)) stop(what, ": ", length(ours), " in place of ", length(theirs))
  ours <- as.numeric(ours); theirs <- as.numeric(theirs)
  if (!identical(is.na(ours), is.na(theirs))) stop(what, ": NA elsewhere")
  max(abs(ours - theirs) / pmax(size, 1e-300), 0, na.rm = TRUE)
}
compare <- function(name, formula, family = gaussian(), spelled = "gaussian") {
  more <- arguments[[name]]; rows <- if (name == "subset") d$x > .1 else rep(TRUE, n)
  run("fit", "d.csv", "--formula", paste(deparse(formula, width.cutoff = 500), collapse = ""), "--family", spelled, "--out", "m.json", "--device", "cpu", more)
  json <- fromJSON("m.json", simplifyVector = FALSE)
  b <- sapply(json$coefficients, function(one) one$value)
  own <- d[rows, ]
  m <- suppressWarnings(if (name == "weights") gam(formula, data = own, family = family, method = "REML", weights = pw)
    else gam(formula, data = own, family = family, method = "REML"))
  used <- rows & complete.cases(d[intersect(all.vars(formula), names(d))])
  X <- predict(m, type = "lpmatrix"); ours <- predicted("--type", "lpmatrix")[used, , drop = FALSE]
  turn <- diag(sapply(seq_len(ncol(X)), function(j) if (sum(X[, j] * ours[, j]) < 0) -1 else 1), ncol(X))
  for (smooth in m$smooth) if (inherits(smooth, "fs.interaction")) {
    all <- smooth$first.para:smooth$last.para; k <- length(all) / length(smooth$flev)
    stack <- function(X) do.call(rbind, lapply(seq_len(length(all) / k), function(l) X[, all[(l - 1) * k + seq_len(k)], drop = FALSE]))
    turn[all, all] <- kronecker(diag(length(all) / k), qr.solve(stack(ours), stack(X)))
  }
  out <- c(matrix = distance(ours %*% turn, X, "lpmatrix", max(abs(X))))
  m$coefficients[] <- solve(turn) %*% b
  if (!is.null(theta_of[[spelled]])) m$family$putTheta(theta_of[[spelled]](sapply(json$family_parameters, function(one) one$value)))
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
    # Those of a discrete family are drawn between two numbers.
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
  whole <- concurvity(m); pairwise <- concurvity(m, full = FALSE)
  if (!identical(colnames(whole), found$concurvity$terms)) stop("concurvity: ", toString(found$concurvity$terms))
  parts <- lapply(m$smooth, function(s) s$first.para:s$last.para)
  if ("para" %in% colnames(whole)) parts <- c(list(seq_len(m$nsdf)), parts)
  for (j in seq_along(parts)) {
    own <- projected(X, parts[[j]], setdiff(seq_len(ncol(X)), parts[[j]]), coef(m))
    if (!is.null(own)) whole[, j] <- own
    for (i in seq_along(parts)) if (i != j) {
      own <- projected(X, parts[[j]], parts[[i]], coef(m))
      if (!is.null(own)) for (k in 1:3) pairwise[[k]][i, j] <- own[k]
    }
  }
  for (measure in rownames(whole)) out["concurvity"] <- max(out["concurvity"], distance(found$concurvity$whole[[measure]], whole[measure, ], "concurvity", 1),
    distance(found$concurvity$pairwise[[measure]], pairwise[[measure]], "pairwise", 1), na.rm = TRUE)
  out
}
worst <- 0
report <- function(name, ...) {
  if (length(only) && !name %in% only) return(invisible())
  found <- try(compare(name, ...), silent = TRUE)
  if (inherits(found, "try-error")) { cat(sprintf("%-9s %s", name, found)); worst <<- Inf; return(invisible()) }
  # p-values within the Monte Carlo error of 2,000 orders, five standard deviations.
  if (found["p"] > 5 * sqrt(2 * .25 / 2000)) { cat("p-values differ\n"); worst <<- Inf }
  worst <<- max(worst, found[setdiff(names(found), c("p", "concurvity"))] / 1e-8, found["concurvity"] / 1e-6)
  cat(sprintf("%-9s", name), sprintf("%s %.0e", names(found), found), "\n")
}
for (name in names(models)) report(name, models[[name]])
for (name in names(families)) report(name, families[[name]][[1]], families[[name]][[2]], if (name == "Gamma") "Gamma(log)" else name)
cat(if (worst <= 1) "all agree to 1e-8, concurvity to 1e-6\n" else sprintf("worst: %.1e times that\n", worst))
quit(status = if (worst <= 1) 0 else 1)
