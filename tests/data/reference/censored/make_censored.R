# SPDX-License-Identifier: Apache-2.0
# The simulated table of the v.. cases, and mgcv's fits of it; needs R with mgcv 1.9-3 and jsonlite.
# Run in tests/data/reference/censored. R 4.2.2, mgcv 1.9-3.
source("../save_case.R")
ctl <- gam.control(epsilon=1e-15, maxit=2000)
set.seed(54)
n <- 700
x <- round(runif(n), 4); z <- round(runif(n), 4); f <- sample(c("a", "b", "c"), n, TRUE); h <- sample(sprintf("h%02d", 1:12), n, TRUE)
e <- round(runif(n), 2); wt <- round(runif(n)*2 + .3, 2)
eta <- 1.5*sin(2*pi*x) + 2*z^2 + c(a=-.3, b=0, c=.8)[f] + rnorm(12, sd=.5)[as.integer(factor(h))]
# Of each kind a fifth: to the left, to the right, in an interval.
censored <- function(y, limits, kinds=c("none", "none", "left", "right", "between")) {
  kind <- sample(kinds, length(y), TRUE)
  low <- vapply(y, function(one) max(limits[limits < one]), 0); high <- vapply(y, function(one) min(limits[limits > one]), 0)
  first <- ifelse(kind == "none", y, ifelse(kind == "left", high, low))
  second <- ifelse(kind == "none", y, ifelse(kind == "left", -Inf, ifelse(kind == "right", Inf, high)))
  cbind(first, second)
}
latent <- round(eta + rnorm(n), 3)
tobit <- cbind(pmax(latent, 0), ifelse(latent > 0, latent, -Inf))
mixed <- censored(round(eta + e + rnorm(n, sd=.7), 3), seq(-8, 9, .5))
positive <- censored(round(exp(1 + eta/3) + rnorm(n, sd=.4), 3), c(-10, seq(.25, 40, 1.5)))
times <- censored(round(eta + .6*rlogis(n), 3), seq(-12, 13, .75))
counts <- censored(rpois(n, exp(.3 + eta/2)), c(-.5, 1.5, 3.5, 6.5, 200.5))
rates <- censored(rpois(n, exp(1 + e + eta/3)), c(-.5, 2.5, 5.5, 9.5, 15.5, 200.5))
d <- data.frame(t1=tobit[, 1], t2=tobit[, 2], m1=mixed[, 1], m2=mixed[, 2], p1=positive[, 1], p2=positive[, 2],
                l1=times[, 1], l2=times[, 2], c1=counts[, 1], c2=counts[, 2], r1=rates[, 1], r2=rates[, 2], x, z, f, h, e, wt)
write_table(d)
d$f <- factor(d$f); d$h <- factor(d$h)
two <- 's(x, bs="cr", k=12) + s(z, bs="ps", k=10)'
# mgcv's find.null.dev searches with a large tolerance.
exact <- function(b, w) {
  offset <- if (is.null(b$offset)) 0 else b$offset
  deviance <- function(a) sum(b$family$dev.resids(b$y, b$family$linkinv(a + offset), w))
  list(null_deviance=optimize(deviance, range(b$linear.predictors - offset), tol=1e-9)$objective)
}
# aic of clog lacks the means.
exact_clog <- function(b, w) {
  y <- as.numeric(b$y); limit <- attr(b$y, "censor"); low <- pmin(y, limit); high <- pmax(y, limit)
  s <- exp(b$family$getTheta())/sqrt(w)
  each <- ifelse(low == high, dlogis(y, fitted(b), s, log=TRUE), log(plogis(high, fitted(b), s) - plogis(low, fitted(b), s)))
  c(exact(b, w), list(aic=-2*sum(each) + 2*sum(b$edf)))
}
# The weights of bam leave out counts of 0: the information on mu of a censored count is here that on log(mu) / mu^2.
information_on_log <- function(family) {
  derivatives <- family$Dd
  family$Dd <- function(y, mu, theta, wt, level=0) {
    all <- derivatives(y, mu, theta, wt, level)
    all$EDmu2 <- all$Dmu2 + all$Dmu/mu
    all
  }
  family
}
save_case("v01_cnorm_tobit", paste("cbind(t1, t2) ~ f +", two), cnorm(), "cnorm", exact=exact)
save_case("v02_cnorm_offset_weights", paste("cbind(m1, m2) ~ offset(e) +", two, '+ s(h, bs="re")'), cnorm(), "cnorm", weights="wt", exact=exact, null_deviance_error=5e-8)
save_case("v03_cnorm_log_fixed", paste("cbind(p1, p2) ~ f +", two), cnorm(.5, "log"), "cnorm(theta=0.5, log)", exact=exact)
save_case("v04_clog", paste("cbind(l1, l2) ~ f +", two), clog(), "clog", exact=exact_clog, null_deviance_error=5e-9)
save_case("v05_clog_weights", paste("cbind(l1, l2) ~", two, '+ s(h, bs="re")'), clog(), "clog", weights="wt", exact=exact_clog, null_deviance_error=5e-8)
save_case("v06_cpois", paste("cbind(c1, c2) ~ f +", two), information_on_log(cpois()), "cpois", exact=exact)
save_case("v07_cpois_offset", paste("cbind(r1, r2) ~ offset(e) +", two, '+ s(h, bs="re")'), information_on_log(cpois()), "cpois", exact=exact)
