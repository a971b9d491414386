# SPDX-License-Identifier: Apache-2.0
# Writes cases.json: k.check, residuals and concurvity of mgcv for ../predictions/table.csv.
#
#   Rscript make_checks.R        (made with R 4.2.2 and mgcv 1.8-41)
suppressMessages({library(mgcv); library(jsonlite)})
t <- read.csv("../predictions/table.csv", stringsAsFactors = TRUE)
# The component "para" is only the first column: mgcv has `1:0` in place of all parametric ones.
text <- deparse(mgcv:::concurvity)
concurvity <- eval(parse(text = gsub("stop <- c(min(start) - 1, stop)", "stop <- c(min(start[-1]) - 1, stop)", text, fixed = TRUE)))
case <- function(m, spelled) {
  set.seed(1)
  r <- residuals(m); k <- suppressWarnings(k.check(m, n.rep = 5000)); whole <- concurvity(m); pairwise <- concurvity(m, full = FALSE)
  out <- list(formula = deparse(formula(m), width.cutoff = 500), family = spelled, terms = as.list(rownames(k)), coefficients = as.list(k[, 1]), edf = as.list(k[, 2]),
    k_index = as.list(k[, 3]), p_value = as.list(k[, 4]), quantiles = as.list(quantile(r)), mean = mean(r), deviation = sd(r),
    pearson = sum(residuals(m, "pearson")^2) / (length(r) - sum(m$edf)), labels = colnames(whole), worst = as.list(whole["worst", ]),
    pairwise = as.list(t(pairwise$worst)), lags = sapply(1:3, function(l) mean(r[-seq_len(l)] * head(r, -l)) / mean(r^2)))
  # The columns' values are in the coordinates of gam().
  if (spelled == "gaussian") out <- c(out, list(observed = as.list(whole["observed", ]), estimate = as.list(whole["estimate", ])))
  if (spelled == "poisson") { p <- dpois(0, fitted(m)); out$zeros <- c(sum(m$y == 0), sum(p), sqrt(sum(p * (1 - p)))) }
  lapply(out, unname)
}
control <- gam.control(epsilon = 1e-12, maxit = 200)
cases <- list(
  case(gam(y ~ f + s(x) + s(w, bs = "cr"), data = t, method = "REML", control = control), "gaussian"),
  case(gam(y ~ f * z + te(x, w, k = 4), data = t, method = "REML", control = control), "gaussian"),
  case(gam(y ~ f + s(x, by = f, k = 6) + s(z, w, k = 12), data = t, method = "REML", control = control), "gaussian"),
  case(bam(count ~ f + s(x) + s(z) + offset(log(e)), data = t, family = poisson(), control = control), "poisson"))
write(toJSON(cases, digits = NA, auto_unbox = TRUE, na = "null"), "cases.json")
