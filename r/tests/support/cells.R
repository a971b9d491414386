# SPDX-License-Identifier: Apache-2.0
# Counts of five genes in cells of two lineages that part at pseudotime 3, and gam's fit of a gene as fitGAM of tradeSeq
# asks for it (sources at 02a90506). The second lineage is shorter.
set.seed(5)
cells <- local({
  n <- 400
  time <- runif(n, 0, 10)
  lineage <- rbinom(n, 1, 0.5) + 1
  names <- paste0("cell", seq_len(n))
  times <- cbind(one = time, two = 0.75 * time)
  weights <- cbind(ifelse(lineage == 1 | time < 3, runif(n, 0.5, 1), 0),
                   ifelse(lineage == 2 | time < 3, runif(n, 0.5, 1), 0))
  drug <- factor(sample(c("control", "drug"), n, TRUE))
  log_mean <- rbind(wave = 1.5 + 1.5 * sin(time / 1.5), branch = 1 + (lineage == 2) * pmax(0, time - 3) / 3 + cos(time),
                    drug = 1 + (drug == "drug") * sin(time / 2) + 0.5 * sin(time), flat = 2, none = -Inf)
  counts <- matrix(rnbinom(5 * n, mu = exp(log_mean), size = 2), 5, dimnames = list(rownames(log_mean), names))
  rownames(times) <- rownames(weights) <- names
  storage.mode(counts) <- "integer"
  list(counts = counts, time = time, lineage = lineage, times = times, weights = weights, drug = drug)
})
exact <- mgcv::gam.control(epsilon = 1e-12,
                           newton = list(conv.tol = 1e-10, maxNstep = 5, maxSstep = 2, maxHalf = 30, use.svd = FALSE))

#' Whether all numbers agree to a share of the largest.
same <- function(a, b, tolerance) {
  length(a) > 0 && length(a) == length(b) && max(abs(a - b)) <= tolerance * max(abs(b))
}

#' The variables of fitGAM's formula, of cells that are assigned to lineages.
variables_of <- function(cells) {
  d <- data.frame(t1 = cells$times[, 1], l1 = (cells$assigned == 1) + 0, t2 = cells$times[, 2],
                  l2 = (cells$assigned == 2) + 0, offset = log(tessera:::effective_sizes(cells$counts, list())))
  d$U <- matrix(1, nrow(d))
  for (j in 1:2) for (k in 1:2) d[[sprintf("l%d_%d", j, k)]] <- (cells$assigned == j & as.integer(cells$drug) == k) + 0
  d
}

#' gam's fit of a gene. Knots are quantiles, of which the end of the second lineage replaces the nearest.
fit_of <- function(gene, cells, curves = c("t1:l1", "t2:l2"), knots = 6) {
  d <- variables_of(cells)
  own <- cells$times[cbind(seq_along(cells$assigned), cells$assigned)]
  places <- unname(quantile(own, seq(0, 1, length.out = knots)))
  end <- max(own[cells$assigned == 2])
  places[which.min(abs(places - end))] <- end
  smooths <- sub("(.*):(.*)", "s(\\1, by = \\2, bs = \"cr\", id = 1, k = knots)", curves)
  d$y <- cells$counts[gene, ]
  mgcv::gam(as.formula(paste("y ~ -1 + U + offset(offset) +", paste(smooths, collapse = "+"))), data = d,
            family = mgcv::nb(),
            method = "REML", knots = list(t1 = places, t2 = places), control = exact)
}
