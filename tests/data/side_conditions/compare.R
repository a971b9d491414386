# SPDX-License-Identifier: Apache-2.0
# Compares the columns of nested smooths that tessera-fit leaves out with those of mgcv's gam, for random designs.
#
#   Rscript compare.R TESSERA_FIT [DESIGNS [FIRST]] [--fit]     (made with R 4.2.2 and mgcv 1.8-41)
#
# Covariates are skewed, tied, of few values or with outliers; smooths have two to four dimensions and numeric or factor
# by variables. The numbers of columns of each smooth are compared. A design is near the threshold if mgcv, with a
# tolerance ten times larger or smaller, drops another number; these are counted separately. With --fit both models are
# fitted, and the total edf and the deviance are compared too. Where they differ, gam is evaluated at the smoothing
# parameters of tessera-fit: tessera-fit has found another optimum of REML if the fit is the same there, and REML is no
# higher than at gam's own. Other differences are printed: of columns with equal lengths up to rounding either may be
# dropped, which changes the penalties. The status is 1 if a design that is not near the threshold has other numbers of
# columns.
suppressMessages(library(mgcv))
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))), "columns.R"))

covariate <- function(kind, n) switch(kind,
  uniform = runif(n), normal = rnorm(n), exponential = rexp(n), lognormal = rlnorm(n, 0, 1.2), heavy = rt(n, 2),
  tied = round(runif(n), 2), few = sample(c(0, 0.5, 1, 2, 3, 4.5, 5, 6, 8, 9, 10, 11, 12, 15), n, TRUE),
  outliers = replace(runif(n), 1:3, c(3, 6, -2)), twice = ifelse(runif(n) < 0.9, rnorm(n), rnorm(n, 8, 0.3)))
kinds <- c("uniform", "normal", "exponential", "lognormal", "heavy", "tied", "few", "outliers", "twice")

# B and C stand for bases, drawn for each design.
formulas <- c(
  'y ~ s(x, bs="B") + s(z, bs="C") + te(x, z, bs="B", k=5)',
  'y ~ s(x, bs="B", k=8) + s(z, bs="B", k=8) + te(x, z, bs=c("B", "C"), k=c(6, 5))',
  'y ~ s(x, bs="B") + te(x, z, bs="B", k=c(4, 6))',
  'y ~ s(x, bs="B") + te(x, z, bs="B", k=5) + te(x, w, bs="C", k=5)',
  'y ~ s(x, bs="B", by=b) + te(x, z, bs="B", k=5, by=b)',
  'y ~ s(x, bs="B", k=7) + s(z, bs="C", by=b) + te(x, z, bs="B", k=5, by=b)',
  'y ~ f + s(x, bs="B", by=f, k=6) + te(x, z, bs="B", k=4, by=f)',
  'y ~ f + s(x, bs="B") + s(z, bs="B") + te(x, z, bs="C", k=5) + s(w, bs="cr", k=5)',
  'y ~ te(x, z, bs="B", k=4) + te(x, z, w, bs="B", k=4)',
  'y ~ s(x, bs="B") + s(z, bs="B") + s(w, bs="B") + te(x, z, bs="B", k=4) + te(x, z, w, bs="B", k=4)',
  'y ~ s(x, bs="ps", k=20) + te(x, z, w, bs="B", k=c(5, 4, 4))',
  'y ~ s(x, bs="B") + te(x, z, bs="cr", k=4) + te(x, z, w, v, bs="cr", k=3)',
  'y ~ te(x, z, bs="B", k=5) + te(x, w, bs="B", k=5) + te(z, w, bs="B", k=5)',
  'y ~ s(x, bs="cp", k=8) + te(x, z, bs=c("cp", "B"), k=c(6, 5))',
  'y ~ s(x, bs="cc", k=8) + s(z, bs="B") + te(x, z, bs=c("cc", "B"), k=c(6, 5))')

design <- function(number) {
  set.seed(number)
  n <- sample(c(500, 1500, 4000), 1)
  of_number <- function() covariate(sample(kinds, 1), n)
  d <- data.frame(x = of_number(), z = of_number(), w = of_number(), v = runif(n),
                  b = if (runif(1) < 0.5) rnorm(n, 2) else rexp(n), f = sample(c("p", "q", "r"), n, TRUE, c(6, 3, 1)))
  d$y <- sin(3 * d$x / sd(d$x)) + d$z / sd(d$z) * cos(d$x / sd(d$x)) + 0.3 * d$b + rnorm(n)
  text <- formulas[(number - 1) %% length(formulas) + 1]
  text <- gsub('"B"', paste0('"', sample(c("ps", "cr"), 1), '"'), text)
  text <- gsub('"C"', paste0('"', sample(c("ps", "cr"), 1), '"'), text)
  list(data = d, formula = text)
}

# The numbers of columns of the smooths of a model of tessera-fit, with its total edf and deviance.
of_tessera <- function(program, formula, table, folder) {
  out <- file.path(folder, "model.json")
  unlink(out)
  log <- suppressWarnings(system2(program, c("fit", table, "--formula", shQuote(formula), "--out", out),
                                  stdout = TRUE, stderr = TRUE))
  if (!file.exists(out)) return(list(error = tail(log, 1)))
  model <- jsonlite::fromJSON(out, simplifyVector = FALSE)
  smooths <- Filter(function(t) t$kind != "parametric", model$terms)
  list(columns = sapply(smooths, function(t) t$coefficients), edf = model$edf_total,
       deviance = model$deviance, reml = model$reml, sp = unlist(lapply(smooths, function(t) unlist(t$sp))))
}

fit_of_gam <- function(formula, d, ...) {
  model <- suppressWarnings(gam(as.formula(formula), data = d, method = "REML", ...))
  list(edf = sum(model$edf), deviance = deviance(model), reml = model$gcv.ubre, parameters = length(model$sp))
}
same_fit <- function(a, b) abs(a$edf - b$edf) < 0.01 && abs(a$deviance / b$deviance - 1) < 1e-4

arguments <- commandArgs(TRUE)
fit <- "--fit" %in% arguments
arguments <- setdiff(arguments, "--fit")
designs <- if (length(arguments) > 1) as.integer(arguments[2]) else 300
first <- if (length(arguments) > 2) as.integer(arguments[3]) else 1
folder <- tempfile()
dir.create(folder)
table <- file.path(folder, "data.csv")
counts <- c(designs = 0, refused_by_mgcv = 0, near = 0, near_and_different = 0, different = 0,
            at_lower_reml = 0)
for (number in seq(first, length.out = designs)) {
  one <- design(number)
  write.csv(format(one$data, digits = 17, trim = TRUE), table, row.names = FALSE, quote = FALSE)
  d <- read.csv(table, stringsAsFactors = TRUE)
  expected <- tryCatch(columns(one$formula, d, 1), error = function(e) NULL)
  if (is.null(expected)) {
    counts["refused_by_mgcv"] <- counts["refused_by_mgcv"] + 1
    next
  }
  counts["designs"] <- counts["designs"] + 1
  near <- !identical(columns(one$formula, d, 0.1), expected) || !identical(columns(one$formula, d, 10), expected)
  mine <- of_tessera(arguments[1], one$formula, table, folder)
  same <- is.null(mine$error) && identical(as.numeric(mine$columns), as.numeric(expected))
  counts["near"] <- counts["near"] + near
  if (!same) counts[if (near) "near_and_different" else "different"] <-
      counts[if (near) "near_and_different" else "different"] + 1
  if (!same)
    cat(number, one$formula, "n", nrow(d), if (near) "(near the threshold)", "mgcv", expected, "tessera-fit",
        if (is.null(mine$error)) mine$columns else mine$error, "\n")
  if (fit && same) {
    its <- fit_of_gam(one$formula, d)
    if (same_fit(its, mine)) next
    there <- if (its$parameters == length(mine$sp)) fit_of_gam(one$formula, d, sp = mine$sp) else its
    if (same_fit(there, mine) && there$reml < its$reml + 1e-3) {
      counts["at_lower_reml"] <- counts["at_lower_reml"] + 1
      next
    }
    cat(number, one$formula, if (near) "(near the threshold)", "edf", its$edf, "and", mine$edf, "deviance",
        its$deviance, "and", mine$deviance, "REML", its$reml, "and", mine$reml, "\n")
  }
}
print(counts)
unlink(folder, recursive = TRUE)
quit(status = if (counts["different"] > 0) 1 else 0)
