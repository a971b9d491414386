# SPDX-License-Identifier: Apache-2.0
# Writes thin_plate.json: mgcv's bam fits at the smoothing parameters that tests/mpi/gam/fit/thin_plate_test.cpp finds.
#
#   Rscript make_thin_plate.R < FILE     (made with R 4.2.2 and mgcv 1.8-41)
#
# FILE has a line for each case: rows, formula, sp, ..., as the test prints them if they differ from the JSON file.
suppressMessages(library(mgcv))
source("../basis/own_bases.R")

# bs="cs", whose constant makes no difference under a constraint: bam drops a column instead.
smooth.construct.line.smooth.spec <- function(object, data, knots) {
  sm <- smooth.construct.shrunken.smooth.spec(object, data, knots)
  ones <- rowSums(sm$S[[1]])
  sm$S[[1]] <- sm$S[[1]] - outer(ones, ones) / sum(ones)
  sm$rank <- sm$bs.dim - 1
  sm$null.space.dim <- 1
  sm
}

# The table of the test: its products and sums of doubles are the same in any program.
table_of <- function(n) {
  state <- 20261124
  draws <- numeric(6 * n)
  for (i in seq_along(draws)) {
    state <- (1664525 * state + 1013904223) %% 2^32
    draws[i] <- state / 2^32
  }
  u <- matrix(draws, ncol = 6, byrow = TRUE)
  d <- data.frame(x = u[, 1] * u[, 1] * 4, z = (floor(u[, 2] * 64) / 64) * (floor(u[, 2] * 64) / 64), w = 1 + u[, 4])
  g <- floor(u[, 3] * 4)
  d$g <- factor(paste0("g", g))
  d$y <- (d$x - 1) * (d$x - 1) * 0.25 - d$x * d$z + 0.5 * d$z * d$z + 0.125 * g + (u[, 5] + u[, 6] - 1)
  d$x[seq_len(n) %% 97 == 0] <- NA
  d
}

numbers <- function(v) paste0("[", paste(sprintf("%.17g", v), collapse = ", "), "]")
cases <- character()
for (line in readLines(file("stdin"))) {
  parts <- trimws(strsplit(line, ";")[[1]])
  d <- table_of(as.numeric(parts[1]))
  sp <- as.numeric(parts[-(1:2)])
  m <- bam(as.formula(gsub('"cs"', '"line"', parts[2])), data = d, sp = sp, weights = w)
  d <- d[!is.na(d$x), ]
  some <- seq(1, nrow(d), length.out = 40)
  p <- predict(m, d, se.fit = TRUE)
  cases <- c(cases, sprintf(
    '{"rows": %s, "formula": "%s",\n  "sp": %s,\n  "edf": %s, "range": %s,\n  "fit": %s,\n  "se": %s}',
    parts[1], gsub('"', "'", parts[2]), numbers(sp), numbers(sum(m$edf)), numbers(diff(range(p$fit))),
    numbers(p$fit[some]), numbers(p$se.fit[some])))
}
writeLines(c("[", paste(cases, collapse = ",\n"), "]"), "thin_plate.json")
