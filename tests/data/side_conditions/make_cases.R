# SPDX-License-Identifier: Apache-2.0
# Writes data.csv and cases.json: models with nested smooths of covariates that are skewed, tied or have outliers, and
# the columns that mgcv's gam keeps.
#
#   Rscript make_cases.R        (made with R 4.2.2 and mgcv 1.8-41)
#
# In no model does mgcv, with a tolerance ten times larger or smaller, drop another number of columns.
suppressMessages(library(mgcv))
source("columns.R")

set.seed(26)
n <- 700
d <- data.frame(x = runif(n), e = rexp(n), l = rlnorm(n, 0, 0.5), t = round(runif(n), 1),
                o = replace(runif(n), 1:3, c(3, 5, -2)), v = runif(n), b = 1000 * rexp(n),
                f = sample(c("p", "q", "r"), n, TRUE, c(6, 3, 1)))
d[sapply(d, is.numeric)] <- lapply(d[sapply(d, is.numeric)], round, 5)
d$y <- with(d, round(sin(6 * x) + log1p(e) * x + 0.3 * log(l + 0.1) + 0.2 * o + v * t + b / 3000 + rnorm(n) * 0.3, 4))
write.csv(d, "data.csv", row.names = FALSE, quote = FALSE)
d <- read.csv("data.csv", stringsAsFactors = TRUE)

# Models whose fit is compared too.
formulas <- c(
  'y ~ s(x, bs="ps") + s(e, bs="ps") + te(x, e, bs="ps", k=5)',
  'y ~ s(o, bs="ps", k=8) + s(x, bs="ps", k=8) + te(o, x, bs="ps", k=c(6, 5))',
  'y ~ s(x, bs="cp", k=8) + te(x, e, bs=c("cp", "ps"), k=c(6, 5))',
  'y ~ te(x, v, bs="ps", k=4) + te(x, v, t, bs="ps", k=4)',
  'y ~ s(l, bs="ps", k=7) + s(x, bs="cr", by=b) + te(l, x, bs="ps", k=5, by=b)',
  'y ~ f + s(e, bs="ps", by=f, k=6) + te(e, x, bs="cr", k=4, by=f)')
# Models whose fit is not compared: of columns with equal lengths up to rounding either may be dropped, and gam ends at
# a local optimum of REML where tessera-fit finds a lower one.
columns_only <- c(
  'y ~ s(e, bs="ps") + s(l, bs="ps") + te(e, l, bs="ps", k=5)',
  'y ~ s(e, bs="cr") + te(e, x, bs="cr", k=c(4, 6))',
  'y ~ s(t, bs="cr", k=5) + s(o, bs="cr") + te(t, o, bs="cr", k=4)',
  'y ~ s(x, bs="ps") + s(e, bs="ps") + te(x, e, bs="ps", k=4) + te(x, v, e, bs="cr", k=4)',
  'y ~ s(x, bs="cr") + te(x, e, bs="cr", k=4) + te(x, e, v, o, bs="cr", k=3)',
  'y ~ s(e, bs="ps", by=b) + te(x, e, bs="ps", k=5, by=b)')

case <- function(formula, compared) {
  expected <- columns(formula, d, 1)
  if (!identical(columns(formula, d, 0.1), expected) || !identical(columns(formula, d, 10), expected))
    stop(formula, " is near the threshold")
  edf <- deviance_of <- "null"
  if (compared) {
    model <- gam(as.formula(formula), data = d, method = "REML",
                 control = gam.control(epsilon = 1e-12, newton = list(conv.tol = 1e-10)))
    edf <- sprintf("%.10g", sum(model$edf))
    deviance_of <- sprintf("%.10g", deviance(model))
  }
  sprintf('{"formula": "%s", "columns": [%s],\n  "edf": %s, "deviance": %s}', gsub('"', '\\\\"', formula),
          paste(expected, collapse = ", "), edf, deviance_of)
}
cases <- c(vapply(formulas, case, "", compared = TRUE), vapply(columns_only, case, "", compared = FALSE))
writeLines(c("[", paste(cases, collapse = ",\n"), "]"), "cases.json")
