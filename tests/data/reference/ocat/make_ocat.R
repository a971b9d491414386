# SPDX-License-Identifier: Apache-2.0
# The simulated table of the o.. cases, and mgcv's fits of it; needs R with mgcv and jsonlite.
# Run in tests/data/reference/ocat. R 4.2.2, mgcv 1.8-41.
source("../save_case.R")
ctl <- gam.control(epsilon=1e-15, maxit=2000)
set.seed(53)
n <- 700
x <- round(runif(n), 4); z <- round(runif(n), 4); f <- sample(c("a", "b", "c"), n, TRUE); h <- sample(sprintf("h%02d", 1:12), n, TRUE)
e <- round(runif(n), 2); wt <- round(runif(n)*2 + .3, 2)
eta <- 1.5*sin(2*pi*x) + 2*z^2 + c(a=-.3, b=0, c=.8)[f] + rnorm(12, sd=.5)[as.integer(factor(h))]
class_of <- function(latent, thresholds) 1 + rowSums(outer(latent, thresholds, ">"))
d <- data.frame(y=class_of(eta + rlogis(n), c(-1, .2, 1.1, 3)), u=class_of(eta + e + rlogis(n), c(-1, 2)), x, z, f, h, e, wt)
d$l <- c("1 never", "2 seldom", "3 often", "4 mostly", "5 always")[d$y]
write_table(d)
d$f <- factor(d$f); d$h <- factor(d$h)
two <- 's(x, bs="cr", k=12) + s(z, bs="ps", k=10)'
# mgcv's find.null.dev searches with a large tolerance.
exact <- function(b, w) {
  offset <- if (is.null(b$offset)) 0 else b$offset
  deviance <- function(a) sum(b$family$dev.resids(b$y, a + offset, w))
  list(null_deviance=optimize(deviance, range(b$linear.predictors - offset), tol=1e-9)$objective, r_squared_adjusted=NULL,
       probabilities20=predict(b, type="response")[1:20, ])
}
save_case("o01_ocat", paste("y ~ f +", two), ocat(R=5), "ocat(R=5)", exact=exact)
save_case("o02_ocat_offset_weights", paste("u ~ offset(e) +", two, '+ s(h, bs="re")'), ocat(R=3), "ocat(R=3)", weights="wt", exact=exact)
save_case("o03_ocat_fixed", paste("y ~", two), ocat(theta=c(1.2, .9, 1.9)), "ocat(theta=c(1.2, 0.9, 1.9))", exact=exact)
