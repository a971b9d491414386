# SPDX-License-Identifier: Apache-2.0
# Known differences from bam's objects: each exists, and bam is the program that omits something.
library(tessera)
suppressMessages(library(mgcv))

set.seed(4)
n <- 400
d <- data.frame(x = runif(n), z = rnorm(n), v = runif(n), g = factor(sample(letters[1:8], n, TRUE)))
eta <- sin(6 * d$x)
d$y <- eta + d$z + as.numeric(arima.sim(list(ar = 0.5), n, sd = 0.3))
d$count <- rnbinom(n, mu = exp(eta + 0.5 * d$z), size = 2)
d$heavy <- eta + 0.3 * rt(n, 4)
d$share <- pmin(pmax(rbeta(n, 5 * plogis(eta), 5 * plogis(-eta)), 1e-4), 1 - 1e-4)
apart <- function(x, y) max(abs(x - y)) / diff(range(y))
control <- gam.control(epsilon = 1e-10)
by_bam <- function(formula, ...) suppressWarnings(bam(formula, data = d, control = control, ...))

# With rho, bam omits the formula's offset if the fit has a single chunk, but not if it has several.
m <- tessera_bam(y ~ s(x) + offset(z), data = d, rho = 0.5, quiet = TRUE)
without <- by_bam(I(y - z) ~ s(x), rho = 0.5)
stopifnot(apart(predict(m) - d$z, predict(without)) < 1e-6,
          apart(predict(by_bam(y ~ s(x) + offset(z), rho = 0.5)) - d$z, predict(by_bam(y ~ s(x), rho = 0.5))) < 1e-6,
          apart(predict(by_bam(y ~ s(x) + offset(z), rho = 0.5, chunk.size = 100)) - d$z, predict(without)) < 0.01)

# The working residuals of bam's objects are the deviance residuals.
m <- tessera_bam(count ~ s(x), data = d, family = poisson, quiet = TRUE)
b <- by_bam(count ~ s(x), family = poisson)
mu <- fitted(b)
stopifnot(apart(residuals(m, type = "working"), (d$count - mu) / mu) < 1e-5,
          identical(residuals(b, type = "working"), residuals(b, type = "deviance")))

# The null deviance of bam's objects omits the offset.
m <- tessera_bam(count ~ s(x) + offset(z / 2), data = d, family = poisson, quiet = TRUE)
b <- by_bam(count ~ s(x) + offset(z / 2), family = poisson)
null <- function(...) glm(count ~ 1, poisson, d, ...)$deviance
stopifnot(all.equal(m$null.deviance, null(offset = d$z / 2), tolerance = 1e-6),
          all.equal(b$null.deviance, null(), tolerance = 1e-6))

# bam's summary treats the scale of nb, scat and betar, which is 1, as estimated: it gives F tests.
for (one in list(list(count ~ s(x), nb()), list(heavy ~ s(x), scat()), list(share ~ s(x), betar()))) {
  b <- by_bam(one[[1]], family = one[[2]])
  s <- summary(tessera_bam(one[[1]], data = d, family = one[[2]], quiet = TRUE))
  theirs <- summary(b)
  stopifnot(colnames(s$s.table)[3] == "Chi.sq", colnames(theirs$s.table)[3] == "F", b$sig2 == 1, s$scale == 1,
            all.equal(theirs$s.table[, "F"] * theirs$s.table[, "Ref.df"], s$s.table[, "Chi.sq"], tolerance = 1e-2))
}

# For a smooth by = a number, together with that number, bam keeps one function more than the rank.
m <- tessera_bam(y ~ v + s(x, by = v, k = 6), data = d, quiet = TRUE)
b <- by_bam(y ~ v + s(x, by = v, k = 6))
stopifnot(apart(fitted(m), fitted(b)) < 1e-5, length(coef(b)) == length(coef(m)) + 1,
          qr(model.matrix(b))$rank == length(coef(m)))

# The "estimate" of concurvity depends on the coordinates, which are those of gam here.
m <- tessera_bam(y ~ s(x) + s(v) + g, data = d, quiet = TRUE)
b <- by_bam(y ~ s(x) + s(v) + g)
measures <- lapply(list(m, gam(y ~ s(x) + s(v) + g, data = d, method = "REML"), b), concurvity)
stopifnot(all.equal(measures[[1]]["estimate", ], measures[[2]]["estimate", ], tolerance = 1e-8),
          max(abs(measures[[1]] - measures[[3]])["estimate", ]) > 1e-6,
          all.equal(measures[[1]]["worst", ], measures[[3]]["worst", ], tolerance = 1e-8))
