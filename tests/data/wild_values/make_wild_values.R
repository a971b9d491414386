# SPDX-License-Identifier: Apache-2.0
# gam's fits of tables with extreme outliers, for mpi.gam.fit.wild_value.
#
#   Rscript make_wild_values.R cases.json     (made with R 4.2.2 and mgcv 1.8-41)
#
# The file has a table without such values, and for each case the rows of a column that get one, the formula, and gam's
# REML, edf and scale. Cases in which gam itself loses columns to rounding, so that its REML jumps as the value grows,
# are omitted: cr, cc and by= of a cr from 1e7 on, and nearly all at 1e12. Omitted too are te of a cr at 1e6 (its
# coefficients are values at equally spaced points, all but one beyond the knots of nearly all rows, and either
# program's REML has an error of about one), and s(x, by=f) at 1e4, which in the level without that value contains the
# constant twice up to a thousandth.
suppressMessages(library(mgcv))
set.seed(26)
n <- 500
table <- data.frame(x = round(runif(n), 6), z = round(runif(n), 6), f = sample(c("p", "q"), n, TRUE), w = 1)
table$y <- round(sin(3 * table$x) + cos(2 * table$z) + 0.3 * rnorm(n), 6)

of_x <- c('y ~ s(x, bs="ps", k=20)', 'y ~ s(x, bs="cr")', 'y ~ s(x, bs="cp")', 'y ~ s(x, bs="cc")',
          'y ~ te(x, z, bs="ps", k=5)', 'y ~ te(x, z, bs="cr", k=5)', 'y ~ s(z, bs="ps", by=x)',
          'y ~ s(z, bs="cr", by=x)', 'y ~ f + s(x, bs="ps", by=f)', 'y ~ x + s(z, bs="cr")',
          'y ~ s(x, bs="ps") + s(z, bs="cr")', 'y ~ s(x, bs="cr") + s(z, bs="cr") + te(x, z, bs="cr", k=4)')
cases <- list()
add <- function(formula, column, rows, value) cases[[length(cases) + 1]] <<-
  list(formula = formula, column = column, rows = as.list(rows - 1), value = value)  # rows from 0
for (formula in of_x) {
  for (value in c(9999, -1e6)) {
    unknown <- if (value == 9999) 'y ~ f + s(x, bs="ps", by=f)' else 'y ~ te(x, z, bs="cr", k=5)'
    if (formula != unknown) add(formula, "x", 17, value)
  }
  add(formula, "x", seq(17, n, by = 25), -999)  # a code for what is missing
}
for (value in c(1e7, 1e9)) for (formula in c('y ~ s(x, bs="ps", k=20)', 'y ~ s(x, bs="cp")', 'y ~ s(z, bs="ps", by=x)',
                                             'y ~ s(x, bs="ps") + s(z, bs="cr")')) add(formula, "x", 17, value)
for (formula in c('y ~ s(x, bs="ps", k=20)', 'y ~ s(x, bs="cp")')) add(formula, "x", 17, 1e12)
add('y ~ te(x, z, bs="ps", k=5)', "x", 17, 1e7)
both <- 'y ~ s(x, bs="cr") + s(z, bs="ps")'
for (value in c(1e4, 1e6, 1e9, 1e12)) {
  add(both, "w", 17, value)
  add(both, "y", 17, value)
}

for (i in seq_along(cases)) {
  case <- cases[[i]]
  d <- table
  d[unlist(case$rows) + 1, case$column] <- case$value
  d$f <- factor(d$f)
  # gam's REML includes half the sum of the logarithms of the weights, which is constant.
  m <- suppressWarnings(gam(as.formula(case$formula), data = d, weights = w, method = "REML"))
  cases[[i]] <- c(case, list(reml = unname(m$gcv.ubre) + sum(log(d$w)) / 2, edf = sum(m$edf),
                             scale = m$sig2))
}
jsonlite::write_json(list(table = table, cases = cases), commandArgs(TRUE)[1], dataframe = "columns", auto_unbox = TRUE,
                     digits = NA)
