# SPDX-License-Identifier: Apache-2.0
# Compares predictions of every kind with mgcv's predict.gam, at equal coefficients:
#   Rscript tests/fit/compare_predictions.R build/default/bin/tessera-fit [third | MODEL...]
# For each model tessera-fit's coefficients and covariance are put into the object of gam(). Its lpmatrix must be the
# same, except for signs, and for factor smooths a rotation, which mgcv leaves to a decomposition. (t2 with a random
# margin is omitted: any eigenvectors of its penalty, the identity, may be its coordinates.)
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE), fixed = TRUE)), "comparison.R"))

set.seed(30)
n <- 600
d <- data.frame(x = runif(n), z = rnorm(n), w = rexp(n), u = runif(n, 0, 10), e = runif(n, 1, 3))
d$f <- factor(sample(c("a", "b", "c"), n, TRUE)); d$g <- factor(sample(sprintf("g%02d", 1:12), n, TRUE))
d$h <- factor(sample(c("lo", "hi"), n, TRUE)); d$dose <- sample(c("d1", "d2", "d3", "d4"), n, TRUE)
d$o <- factor(d$dose, ordered = TRUE)
eta <- sin(6 * d$x) + .3 * d$z + .2 * as.numeric(d$f) + rnorm(12)[d$g] * .3
d$y <- eta + rnorm(n) * .4
d$cnt <- rpois(n, exp(.5 + eta / 2)); d$bin <- rbinom(n, 1, plogis(eta)); d$pos <- rgamma(n, 3, 3 / exp(eta / 2))
d$prop <- pmin(pmax(rbeta(n, 4 * plogis(eta), 4 * plogis(-eta)), 1e-4), 1 - 1e-4)
d$tw <- rTweedie(exp(eta / 2), p = 1.5, phi = 1); d$nb <- rnbinom(n, size = 2, mu = exp(.5 + eta / 2))
d$t5 <- eta + rt(n, 5) * .3
new <- d[sample(n, 80), ]; new$x <- runif(80, -.1, 1.1); new$z[3] <- NA; new$f[5] <- NA

models <- list(
  ps = y ~ f + z + s(x, bs = "ps", k = 12), cr = y ~ s(x, bs = "cr") + s(z, bs = "cs"), tp = y ~ s(x) + s(z, bs = "ts"),
  cc = y ~ s(u, bs = "cc") + s(x, bs = "cp"), bs = y ~ s(x, bs = "bs") + h, ds = y ~ s(x, z, bs = "ds", m = c(1, .5), k = 20),
  gp = y ~ s(x, bs = "gp") + f, tp2 = y ~ s(x, z, k = 20) + poly(w, 2), te = y ~ te(x, z, k = 5) + s(w),
  ti = y ~ ti(x) + ti(z) + ti(x, z, k = 5), te21 = y ~ te(x, z, u, d = c(2, 1), k = c(10, 4), bs = c("tp", "cr")),
  by = y ~ f + s(x, by = f), byn = y ~ s(x, by = z) + s(w), byo = y ~ o + s(x) + s(x, by = o),
  re = y ~ s(x) + s(g, bs = "re"), res = y ~ f + s(g, z, bs = "re"), rei = y ~ s(x) + s(g, f, bs = "re"),
  fs = y ~ s(z) + s(x, g, bs = "fs", k = 5), fsb = y ~ f + s(x, g, bs = "fs", k = 5, xt = "cr"),
  tere = y ~ s(z) + te(x, g, bs = c("cr", "re"), k = c(5, 12)), id = y ~ s(x, id = 1, bs = "cr") + s(w, id = 1, bs = "cr"),
  sz = y ~ s(x) + s(f, x, bs = "sz", k = 6), t2 = y ~ t2(x, z, k = 4) + f,
  inter = y ~ f * h + f:z + s(x), ord = y ~ o + s(x), ordi = y ~ o * z + s(x), noint = y ~ f + s(x) - 1, exprs = y ~ I(z^2) + log(w) + s(log(u)) + s(x),
  nested = y ~ s(x, bs = "cr") + s(z, bs = "cr") + te(x, z, k = 4), fx = y ~ s(x, k = 5, fx = TRUE) + f, pc = y ~ s(x, pc = .5) + s(z),
  nsbs = y ~ splines::ns(x, 3) + s(z), off = y ~ offset(log(e)) + s(x) + f, para = y ~ f + z + log(w))
families <- list(poisson = list(cnt ~ s(x) + f + offset(log(e)), poisson()), binomial = list(bin ~ s(x) + z, binomial()),
  probit = list(bin ~ s(x) + z, binomial(probit)), gamma = list(pos ~ s(x) + f, Gamma(log)), gammai = list(pos ~ s(x, k = 4), Gamma()),
  ig = list(pos ~ s(x), inverse.gaussian(log)), nb = list(nb ~ s(x) + f, nb()), tw = list(tw ~ s(x) + f, tw()),
  scat = list(t5 ~ s(x) + f, scat()), betar = list(prop ~ s(x) + f, betar()), qp = list(cnt ~ s(x) + f, quasipoisson()))
spelled <- c(poisson = "poisson", binomial = "binomial", probit = "binomial(probit)", gamma = "Gamma(log)", gammai = "Gamma(inverse)",
  ig = "inverse.gaussian(log)", nb = "nb", tw = "tw", scat = "scat", betar = "betar", qp = "quasipoisson")

write.csv(d[setdiff(names(d), "o")], "d.csv", row.names = FALSE)
predicted <- function(...) answer("predict", "m.json", "new.csv", ...)
compare <- function(name, formula, family = gaussian(), spelled = "gaussian") {
  text <- gsub("\\bo\\b", "ordered(dose)", paste(deparse(formula, width.cutoff = 500), collapse = ""))
  labels <- function(x) gsub(":o(d[0-9])", ":ordered(dose)\\1", gsub("\\bo\\b", "ordered(dose)", x))
  write.csv(new[setdiff(names(new), c("o", all.vars(formula)[1]))], "new.csv", row.names = FALSE)
  run("fit", "d.csv", "--formula", text, "--family", spelled, "--out", "m.json", "--device", "cpu")
  json <- fromJSON("m.json", simplifyVector = FALSE)
  m <- suppressWarnings(gam(formula, data = d, family = family, method = "REML", sp = sp_of(json)))
  back <- back_of(m, as.matrix(answer("predict", "m.json", "d.csv", "--type", "lpmatrix")), predict(m, d, type = "lpmatrix"))
  m <- with_our_coefficients(m, json, back)
  out <- predictions_apart(m, new, back, labels)
  # Only in mgcv is a row NA that lacks a variable of excluded terms only.
  summed <- function(...) { theirs <- predict(m, new, se.fit = TRUE, ...); cbind(theirs$fit, theirs$se.fit) }
  known <- complete.cases(new[intersect(all.vars(formula), names(new))])
  labels_of <- colnames(predict(m, new[1:2, ], type = "terms"))
  for (l in c(labels_of[1], tail(labels_of, 1))) {
    out["exclude"] <- max(out["exclude"], by_column(predicted("--exclude", labels(l), "--se")[known, ], summed(exclude = l)[known, ], "exclude"), na.rm = TRUE)
    some <- c(l, if (attr(m$terms, "intercept") == 1) "(Intercept)")
    out["terms="] <- max(out["terms="], by_column(predicted("--terms", paste(labels(some), collapse = ","), "--se")[known, ], summed(terms = some)[known, ], "terms="), na.rm = TRUE)
  }
  out
}
worst <- 0
report <- function(name, ...) {
  if (!is_taken(name)) return(invisible())
  found <- try(compare(name, ...), silent = TRUE)
  if (inherits(found, "try-error")) { cat(sprintf("%-9s %s", name, found)); worst <<- Inf; return(invisible()) }
  worst <<- max(worst, found)
  cat(sprintf("%-9s", name), sprintf("%s %.0e", names(found), found), "\n")
}
for (name in names(models)) report(name, models[[name]])
for (name in names(families)) report(name, families[[name]][[1]], families[[name]][[2]], spelled[[name]])
cat(if (worst <= 1e-8) "all agree to 1e-8\n" else sprintf("worst: %.1e\n", worst))
quit(status = if (worst <= 1e-8) 0 else 1)
