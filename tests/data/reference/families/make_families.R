# SPDX-License-Identifier: Apache-2.0
# The simulated table of the f.. cases, and mgcv's fits of it; needs R with mgcv and jsonlite.
# Run in tests/data/reference/families. R 4.2.2, mgcv 1.8-41.
source("../save_case.R")
set.seed(31)
n <- 900
x <- round(runif(n), 4); z <- round(runif(n), 4); f <- sample(c("a", "b", "c"), n, TRUE); h <- sample(sprintf("h%02d", 1:15), n, TRUE)
e <- round(runif(n)*5 + .5, 2); wt <- round(runif(n)*2 + .3, 2)
eta <- sin(2*pi*x) + 1.5*sin(5*z) + c(a=-.3, b=0, c=.5)[f] + rnorm(15, sd=.3)[as.integer(factor(h))]
mu <- plogis(.7*eta)
trials <- rpois(n, 4)
s <- rbinom(n, trials, mu)
b <- rbeta(n, 8*mu, 8*(1 - mu))
d <- data.frame(s, failed=trials - s, rain=signif(rTweedie(exp(.8*eta), p=1.35, phi=1.3), 7), claims=signif(rTweedie(e*exp(.8*eta), p=1.7, phi=.4), 7),
                t=signif(50*(eta + .4*rt(n, 4)), 7), v=signif(3 + eta/3 + .2*rt(n, 5), 7), b=ifelse(b < .03, 0, ifelse(b > .99, 1, signif(b, 7))), i=signif(b, 7),
                g=signif(rgamma(n, 3, scale=exp(.7*eta)/3), 7), x, z, f, h, e, wt)
write_table(d)
d$f <- factor(d$f); d$h <- factor(d$h)
two <- 's(x, bs="cr", k=12) + s(z, bs="ps", k=10)'
# mgcv's find.null.dev searches an interval with a large tolerance, and may end at another minimum.
exact_null <- function(b, w) {
  offset <- if (is.null(b$offset)) 0 else b$offset
  deviance <- function(a) sum(b$family$dev.resids(b$y, b$family$linkinv(a + offset), w))
  list(null_deviance=optimize(deviance, range(b$linear.predictors - offset), tol=1e-9)$objective)
}
# mgcv searches the saturated likelihood of a beta response at means from 1e-8 to 1 - 1e-8.
exact_beta <- function(b, w) {
  phi <- b$family$getTheta(TRUE)
  y <- b$y
  log_likelihood <- function(y, mu) dbeta(y, mu*phi, (1 - mu)*phi, log=TRUE)
  saturated <- sapply(y, function(one) optimize(function(eta) log_likelihood(one, plogis(eta)), c(-60, 60), maximum=TRUE, tol=1e-10)$objective)
  squares <- function(mu) pmax(0, 2*w*(saturated - log_likelihood(y, mu)))
  list(deviance=sum(squares(fitted(b))), null_deviance=sum(squares(rep(weighted.mean(y, w), length(y)))),
       residuals50=(sign(y - fitted(b))*sqrt(squares(fitted(b))))[1:50])
}
save_case("f01_cbind", paste("cbind(s, failed) ~ f +", two), binomial(), "binomial")
save_case("f02_cbind_quasi_weights", paste("cbind(s, failed) ~", two), quasibinomial(probit), "quasibinomial(probit)", weights="wt")
save_case("f03_quasi_log_mu_2", paste("g ~ f +", two), quasi(log, "mu^2"), "quasi(log, mu^2)", weights="wt")
save_case("f04_quasi_cauchit", paste("i ~", two), quasi("cauchit", "mu(1-mu)"), 'quasi(link = "cauchit", variance = "mu(1-mu)")')
save_case("f05_quasi_log_constant", paste("v ~", two), quasi("log"), "quasi(log)")
save_case("f06_tw", paste("rain ~ f +", two), tw(), "tw")
save_case("f07_tw_offset_weights", paste("claims ~ offset(log(e)) +", two, '+ s(h, bs="re")'), tw(), "tw()", weights="wt", exact=exact_null, null_deviance_error=1e-8)
save_case("f08_tw_sqrt_bounds", paste("rain ~", two), tw(link="sqrt", a=1.1, b=1.8), "tw(link = sqrt, a = 1.1, b = 1.8)")
save_case("f09_tweedie", paste("rain ~ f +", two), Tweedie(p=1.4, link="log"), "Tweedie(p = 1.4)", weights="wt")
save_case("f10_scat", paste("t ~ f +", two), scat(), "scat", exact=exact_null)
save_case("f11_scat_log_fixed", paste("v ~", two), scat(theta=c(5, .25), link="log"), "scat(theta = c(5, 0.25), link = log)")
save_case("f12_betar", paste("b ~ f +", two), betar(), "betar", exact=exact_beta)
# Null deviances have the precision of the parameters of the response, which bam gives to 1e-8.
save_case("f13_betar_weights", paste("i ~", two, '+ s(h, bs="re")'), betar(link="cloglog"), "betar(link = cloglog)", weights="wt", exact=exact_beta, null_deviance_error=1e-7)
