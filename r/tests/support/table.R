# SPDX-License-Identifier: Apache-2.0
# Makes a table of two numbers and two factors, with a gaussian and a binomial response.
set.seed(7)
n <- 300
d <- data.frame(x = runif(n), z = runif(n), fac = factor(sample(c("a", "b", "c"), n, TRUE)),
                g = factor(sample(letters[1:6], n, TRUE)))
d$y <- sin(6 * d$x) + d$z^2 + 0.4 * as.integer(d$fac) + rnorm(6, sd = 0.4)[d$g] + rnorm(n, sd = 0.4)
d$yb <- rbinom(n, 1, plogis(d$y))
