# SPDX-License-Identifier: Apache-2.0
# Random counts, genes in rows, and the normalisation factors of edgeR's calcNormFactors: R 4.2.2, edgeR 3.40.2.
suppressMessages(library(edgeR))
set.seed(57)
draw <- function(genes, cells, mean) {
  counts <- matrix(rnbinom(genes * cells, mu = outer(exp(rnorm(genes, log(mean), 1.5)), exp(rnorm(cells, 0, .4))), size = 2), genes)
  counts[, 1:3] <- counts[, 1:3] * rep(c(1, 4), c(genes - 5, 5))
  counts[7, ] <- 0
  counts
}
# Of the second most counts are zero, and so are the upper quartiles.
cases <- lapply(c(8, .1), function(mean) { counts <- draw(80, 25, mean); list(counts = counts, factors = calcNormFactors(counts)) })
writeLines(jsonlite::toJSON(cases, digits = NA), "tmm.json")
