# SPDX-License-Identifier: Apache-2.0
# Simulated counts of cells on two lineages that part at pseudotime 4, in three batches: the models that tradeSeq's fitGAM asks of gam(), and the statistics of
# its tests, by their formulas, on these models: R 4.2.2, mgcv 1.8-41.
suppressMessages(library(mgcv))
set.seed(56)
n <- 400
t <- runif(n, 0, 10)
# Cells before the branch are of one lineage by chance, as cell weights of 0.5 give them.
l1 <- rbinom(n, 1, ifelse(t < 4, .5, rbinom(n, 1, .5)))
d <- data.frame(t1 = pmax(0, round(t + rnorm(n, 0, .1), 3)), t2 = pmax(0, round(.75 * t + rnorm(n, 0, .1), 3)), l1 = l1, l2 = 1 - l1, batch = sample(c("a", "b", "c"), n, TRUE), offset = round(rnorm(n, 0, .3), 3))
U <- model.matrix(~ batch, d)
# One set of knots for both lineages: quantiles of all pseudotimes, of which the nearest is replaced by the end of the shorter lineage.
ends <- c(max(d$t1[d$l1 == 1]), max(d$t2[d$l2 == 1]))
knots <- unname(quantile(c(d$t1[d$l1 == 1], d$t2[d$l2 == 1]), seq(0, 1, length.out = 6)))
knots[which.min(abs(knots - min(ends)))] <- min(ends)
exact <- gam.control(epsilon = 1e-12, newton = list(conv.tol = 1e-10, maxNstep = 5, maxSstep = 2, maxHalf = 30, use.svd = FALSE))
offset <- d$offset
fit <- function(y) gam(y ~ -1 + U + s(t1, by = l1, bs = "cr", id = 1, k = 6) + s(t2, by = l2, bs = "cr", id = 1, k = 6) + offset(offset),
  data = d, family = nb(), knots = list(t1 = knots, t2 = knots), method = "REML", control = exact)
draw <- function() {
  a <- rnorm(4)
  rnbinom(n, mu = exp(1 + d$offset + a[1] * sin(t / 2) + (t > 4) * (d$l1 - d$l2) * a[2] * (t - 4) / 6 + .3 * a[3] * (d$batch == "b")), size = exp(runif(1, -.5, 2)))
}
counts <- replicate(6, draw())
models <- apply(counts, 2, fit)

# The predictor's row of a lineage at pseudotimes; batches and offsets leave differences of rows.
row_of <- function(lineage, times) {
  new <- list(U = U[rep(1, length(times)), , drop = FALSE], t1 = 0 * times, t2 = 0 * times, l1 = 0 * times, l2 = 0 * times, offset = 0 * times)
  new[[paste0("t", lineage)]] <- times
  new[[paste0("l", lineage)]] <- 1 + 0 * times
  predict(models[[1]], new, type = "lpmatrix")
}
# .getPredictRangeDf of tradeSeq (02a90506): data from below a hundredth of the last pseudotime on start at 0; .getPredictStartPointDf: 0.
range_of <- function(lineage) { r <- range(d[d[[paste0("l", lineage)]] == 1, paste0("t", lineage)]); if (r[1] / r[2] < .01) r[1] <- 0; r }
times <- function(lineage, points, from = range_of(lineage)[1], to = Inf) seq(from, min(to, range_of(lineage)[2]), length.out = points)
shrunk <- function(est, l2fc) sign(est) * pmax(0, abs(est) - log(2^l2fc))
# waldTest and waldTestFC: independent contrasts, and the Cholesky factor of their covariance, which may be numerically singular: NA.
wald <- function(b, V, L, l2fc = 0) {
  L <- L[, qr(L)$pivot[seq_len(qr(L)$rank)], drop = FALSE]
  est <- shrunk(t(L) %*% b, l2fc)
  tryCatch(c(t(est) %*% chol2inv(chol(t(L) %*% V %*% L)) %*% est, ncol(L)), error = function(e) NA)
}
# getEigenStatGAMFC.
eigen_stat <- function(b, V, L, l2fc = 0, threshold = 1e-2) {
  est <- shrunk(t(L) %*% b, l2fc)
  e <- eigen(t(L) %*% V %*% L, symmetric = TRUE)
  r <- sum(e$values / e$values[1] > threshold)
  half <- t(est) %*% e$vectors[, seq_len(r), drop = FALSE] %*% diag(1 / sqrt(e$values[seq_len(r)]), r)
  c(sum(half^2), r)
}
from_start <- function(lineage, points) { X <- row_of(lineage, times(lineage, points, 0)); t(X[-1, ] - X[rep(1, points - 1), ]) }
start_end <- function(lineage) { X <- row_of(lineage, c(0, range_of(lineage)[2])); t(X[2, , drop = FALSE] - X[1, , drop = FALSE]) }
end <- function(lineage) row_of(lineage, range_of(lineage)[2])
between <- function(points, ...) t(row_of(1, times(1, points, ...)) - row_of(2, times(2, points, ...)))
L <- list(association1 = from_start(1, 12), association2 = from_start(2, 12), start_end1 = start_end(1), start_end2 = start_end(2), end = t(end(1) - end(2)), pattern = between(12), early = between(12, 1, 5))
L$association <- cbind(L$association1, L$association2)
L$start_end <- cbind(L$start_end1, L$start_end2)
statistics <- function(m) {
  b <- coef(m); V <- vcov(m)
  c(lapply(L, function(one) list(wald = wald(b, V, one), eigen = eigen_stat(b, V, one), eigen_l2fc = eigen_stat(b, V, one, 1), log2_fold_changes = I(unname(c(t(one) %*% b)) / log(2)))))
}
grid <- data.frame(t1 = c(1, 3, 7, 9, 0, 0, 0, 0), t2 = c(0, 0, 0, 0, 1, 3, 6, 7), l1 = rep(1:0, each = 4), batch = rep(c("a", "b"), 4), offset = 0)
grid$l2 <- 1 - grid$l1
links <- function(m) predict(m, c(as.list(grid), list(U = model.matrix(~ factor(batch, c("a", "b", "c")), grid))), se.fit = TRUE)
results <- lapply(seq_along(models), function(i) {
  m <- models[[i]]; link <- links(m)
  list(y = counts[, i], coef = unname(coef(m)), covariance = unname(vcov(m)), sp = unname(m$sp), edf = sum(m$edf), theta = m$family$getTheta(TRUE),
    link = unname(c(link$fit)), link_se = unname(c(link$se.fit)), statistics = statistics(m))
})
# Three conditions: a smooth for each lineage and condition. The contrasts of conditionTest are differences of coefficients, which are values at the knots.
d$condition <- sample(c("c1", "c2", "c3"), n, TRUE)
by <- outer(1:2, 1:3, function(lineage, condition) paste0("l", lineage, "_", condition))
for (lineage in 1:2) for (condition in 1:3) d[[by[lineage, condition]]] <- d[[paste0("l", lineage)]] * (d$condition == paste0("c", condition))
terms <- paste0("s(t", row(by), ", by = ", by, ", bs = 'cr', id = 1, k = 6)")[order(row(by), col(by))]
m <- gam(as.formula(paste("y ~", paste(terms, collapse = " + "), "+ offset(offset)")), data = cbind(d, y = counts[, 2]), family = nb(), knots = list(t1 = knots, t2 = knots), method = "REML", control = exact)
between_conditions <- function(lineage, a, b, at = 1:6) sapply(at, function(i) (names(coef(m)) == paste0("s(t", lineage, "):", by[lineage, a], ".", i)) - (names(coef(m)) == paste0("s(t", lineage, "):", by[lineage, b], ".", i)))
pairs_of <- function(lineage, at = 1:6) do.call(cbind, combn(3, 2, function(p) between_conditions(lineage, p[1], p[2], at), simplify = FALSE))
of_conditions <- function(L) eigen_stat(coef(m), vcov(m), L)
conditions <- list(coef = unname(coef(m)), covariance = unname(vcov(m)), names = names(coef(m)), statistics = list(
  all = of_conditions(cbind(pairs_of(1), pairs_of(2))), t1 = of_conditions(pairs_of(1)), t2 = of_conditions(pairs_of(2)), pair = of_conditions(between_conditions(2, 1, 3)),
  early = of_conditions(cbind(pairs_of(1, 1:3), pairs_of(2, 1:3))), two = of_conditions(cbind(between_conditions(1, 1, 2), between_conditions(2, 1, 2)))))
writeLines(jsonlite::toJSON(list(conditions = conditions, table = as.list(d), knots = knots, grid = as.list(grid), responses = results), digits = NA, auto_unbox = TRUE, null = "null"), "tradeseq.json")
