# SPDX-License-Identifier: Apache-2.0
# Writes rows.json: for some models in ../reference, the partial residuals of the first rows as plot.gam has them for a
# gam (the smooth plus the Pearson residual, which is the working residual times the square root of its weight;
# `residuals` of a bam are deviance residuals), and the number of grid points that exclude.too.far leaves out.
#
#   Rscript make_rows.R        (made with R 4.2.2 and mgcv 1.8-41)
suppressMessages(library(mgcv))
invisible(Sys.setlocale("LC_COLLATE", "C"))

numbers <- function(v) paste0("[", paste(sprintf("%.12g", v), collapse = ", "), "]")

case <- function(folder, data, formula, family, weights = NULL, knots = NULL, rows = 40) {
  data <- read.csv(file.path("..", "reference", data), stringsAsFactors = TRUE)
  data$w <- if (is.null(weights)) 1 else data[[weights]]
  m <- bam(as.formula(formula), data = data, family = family, weights = w, method = "fREML", knots = knots,
           discrete = FALSE, control = gam.control(epsilon = 1e-12))
  terms <- predict(m, type = "terms")
  pearson <- residuals(m, "pearson")
  smooths <- vapply(m$smooth, function(s) {
    mine <- if (s$by == "NA" || !is.factor(data[[s$by]])) rep(TRUE, nrow(data)) else data[[s$by]] == s$by.level
    mine <- which(mine)[seq_len(rows)]
    sprintf('{"label": "%s", "x": %s, "y": %s}', s$label, numbers(data[[s$term]][mine]),
            numbers(terms[mine, s$label] + pearson[mine]))
  }, "")
  sprintf('{"case": "%s", "terms": [\n  %s]}', folder, paste(smooths, collapse = ",\n  "))
}

mixed <- "mixed/data.csv.gz"
cases <- c(
  case("c06_gs4_by_factor", "c06_gs4_by_factor/data.csv.gz",
       'y ~ fac + x1 + s(x2, by = fac, bs = "ps", k = 15, m = c(2, 2)) + s(x0, bs = "ps", k = 15, m = c(2, 2))',
       gaussian()),
  case("m03_poisson_offset_cp", mixed, 'pois ~ f + offset(log(e)) + s(x, bs="cr", k=12) + s(u, bs="cp", k=10)',
       poisson(), knots = list(u = c(0, 7))),
  case("m06_binomial_trials_by", mixed, 'prop ~ s(x, bs="ps", k=10) + f + s(z, by=f, bs="cr", k=8)', binomial(),
       "trials"),
  case("n01_nb", "counts/data.csv.gz", 'y ~ f + s(x, bs="cr", k=12) + s(z, bs="ps", k=10)', nb()))

far <- function(points, rows) {
  data <- read.csv("../reference/mixed/data.csv.gz")[seq_len(rows), ]
  grid <- expand.grid(x = seq(min(data$x), max(data$x), length.out = points),
                      z = seq(min(data$z), max(data$z), length.out = points))
  sprintf('{"points": %d, "rows": %d, "x": %s, "z": %s, "far": %s}', points, rows, numbers(data$x), numbers(data$z),
          numbers(which(exclude.too.far(grid$x, grid$z, data$x, data$z, 0.1)) - 1))
}
writeLines(sprintf('{"cases": [\n%s],\n"far": %s}', paste(cases, collapse = ",\n"), far(15, 40)), "rows.json")
