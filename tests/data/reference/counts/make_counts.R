# SPDX-License-Identifier: Apache-2.0
# The simulated counts of the n.. cases, and mgcv's fits of them; needs R with mgcv and jsonlite.
# Run in tests/data/reference/counts. R 4.2.2, mgcv 1.8-41.
source("../save_case.R")
set.seed(28)
n <- 900
x <- round(runif(n), 4); z <- round(rnorm(n), 3); f <- sample(c("a","b","c"), n, TRUE)
h <- sample(sprintf("h%02d", 1:15), n, TRUE); e <- round(runif(n)*5 + .5, 2); wt <- round(runif(n)*2 + .3, 2)
eta <- 1 + sin(2*pi*x) + .4*z^2/(1 + z^2) + c(a=-.3, b=0, c=.5)[f] + rnorm(15, sd=.3)[as.integer(factor(h))]
d <- data.frame(y=rnbinom(n, size=1.7, mu=exp(eta)), m=rnbinom(n, size=6, mu=e*exp(eta - 1)), x, z, f, h, e, wt)
write_table(d)
d$f <- factor(d$f); d$h <- factor(d$h)
save_case("n01_nb", 'y ~ f + s(x, bs="cr", k=12) + s(z, bs="ps", k=10)', nb(), "nb")
save_case("n02_nb_offset_weights", 'm ~ offset(log(e)) + s(x, bs="ps", k=10) + s(h, bs="re")', nb(), "nb()", weights="wt")
save_case("n03_nb_fixed", 'y ~ f + s(x, bs="cr", k=12) + s(z, bs="ps", k=10)', nb(theta=3), "nb(theta = 3)")
save_case("n04_nb_fixed_offset_weights", 'm ~ offset(log(e)) + f + s(x, bs="cc", k=8)', nb(theta=3), "nb(3, link = log)", weights="wt")
save_case("n05_nb_sqrt", 'y ~ f + s(x, bs="cr", k=12)', nb(link="sqrt"), 'nb(link = "sqrt")')
save_case("n06_nb_identity", 'y ~ s(x, bs="cr", k=8)', nb(link="identity"), "nb(link = identity)")
