# SPDX-License-Identifier: Apache-2.0
# The simulated table of the z.. cases, and mgcv's fits of it; needs R with mgcv and jsonlite.
# Run in tests/data/reference/zip. R 4.2.2, mgcv 1.8-41.
source("../save_case.R")
ctl <- gam.control(epsilon=1e-15, maxit=2000)
set.seed(54)
n <- 700
x <- round(runif(n), 4); z <- round(runif(n), 4); f <- sample(c("a", "b", "c"), n, TRUE); h <- sample(sprintf("h%02d", 1:12), n, TRUE)
e <- round(runif(n), 2)
gamma <- 0.9*sin(2*pi*x) + z^2 + c(a=-.3, b=0, c=.8)[f] + rnorm(12, sd=.3)[as.integer(factor(h))]
counts <- function(gamma, intercept, slope) {
  rate <- exp(gamma)
  ifelse(runif(n) < 1 - exp(-exp(intercept + slope*gamma)), qpois(runif(n, exp(-rate), 1), rate), 0)
}
d <- data.frame(y=counts(gamma, -.5, .9), u=counts(gamma + e, -1, 1.6), x, z, f, h, e)
write_table(d)
d$f <- factor(d$f); d$h <- factor(d$h)
two <- 's(x, bs="cr", k=12) + s(z, bs="ps", k=10)'
# mgcv searches the null model with a large tolerance, and without the offset.
exact <- function(b, w) {
  offset <- if (is.null(b$offset)) 0 else b$offset
  deviance <- function(a) sum(b$family$dev.resids(b$y, a + offset)) - sum(b$family$saturated.ll(b$y, b$family, w))
  list(null_deviance=optimize(deviance, c(-3, 3), tol=1e-9)$objective, r_squared_adjusted=NULL,
       probabilities20=as.matrix(predict(b, type="response")[1:20]))
}
save_case("z01_zip", paste("y ~ f +", two), ziP(), "ziP", exact=exact)
save_case("z02_zip_offset", paste("u ~ offset(e) +", two, '+ s(h, bs="re")'), ziP(b=.5), "ziP(b=0.5)", exact=exact)
save_case("z03_zip_fixed", paste("y ~", two), ziP(theta=c(-.4, -.2)), "ziP(theta=c(-0.4, -0.2))", exact=exact)
