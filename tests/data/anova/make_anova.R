# SPDX-License-Identifier: Apache-2.0
# Writes cases.json: anova.gam and logLik of pairs of bam(method = "fREML") for ../predictions/table.csv.
#
#   Rscript make_anova.R        (made with R 4.2.2 and mgcv 1.8-41)
suppressMessages({library(mgcv); library(jsonlite)})
t <- read.csv("../predictions/table.csv", stringsAsFactors = TRUE)
control <- gam.control(epsilon = 1e-12, maxit = 200)
case <- function(formulas, family, spelled) {
  fits <- lapply(formulas, bam, family = family, data = t, method = "fREML", control = control)
  # bam() counts a scale parameter for families without one.
  if (spelled == "nb") for (i in 1:2) fits[[i]]$scale.estimated <- FALSE
  table <- function(test) { a <- suppressWarnings(anova(fits[[1]], fits[[2]], test = test)); lapply(unname(as.list(a)), function(x) unname(x)) }
  list(family = spelled, models = lapply(fits, function(m) {
    p <- summary(m)$pTerms.table
    list(formula = deparse(formula(m), width.cutoff = 500), terms = as.list(rownames(p)), parametric = if (is.null(p)) list() else unname(split(p, row(p))), edf1 = sum(m$edf1), edf2 = sum(m$edf2),
         log_likelihood = as.numeric(logLik(m)), log_likelihood_df = attr(logLik(m), "df"), AIC = AIC(m), aic = m$aic)
  }), F = table("F"), Chisq = table("Chisq"))
}
cases <- list(
  case(list(y ~ s(x), y ~ f * h + poly(w, 2) + s(x)), gaussian(), "gaussian"),
  case(list(y ~ f + s(x), y ~ f + s(x, by = f) + s(g, bs = "re")), gaussian(), "gaussian"),
  case(list(count ~ f + s(x) + offset(log(e)), count ~ s(x) + z + f + s(g, bs = "re") + offset(log(e))), poisson(), "poisson"),
  case(list(count ~ s(x), count ~ f + s(x)), nb(), "nb"))
write(toJSON(cases, digits = NA, auto_unbox = TRUE, na = "null"), "cases.json")
