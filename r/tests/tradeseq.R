# SPDX-License-Identifier: Apache-2.0
# The result of tessera_many() has what tradeSeq's functions (sources at 02a90506) read of that of fitGAM: slots, names and
# types are those of gam's fits, and the statistics of the tests, computed from the slots by expressions of our own, are
# those of tessera_curves().
library(tessera)
if (!requireNamespace("SingleCellExperiment", quietly = TRUE)) {
  cat("SKIPPED: there is no SingleCellExperiment\n")
  quit(status = 0)
}
suppressMessages({
  library(mgcv)
  library(SingleCellExperiment)
})
script <- sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE), fixed = TRUE)
source(file.path(if (length(script)) dirname(script) else ".", "support", "cells.R"))
fitted_genes <- c("wave", "branch", "drug")
cells$assigned <- cells$lineage

#' What tradeSeq's functions read, by the expressions by which they read it.
read <- function(models) {
  of_cells <- colData(models)$tradeSeq
  crv <- colData(models)$crv
  list(dm = of_cells$dm, X = of_cells$X, conditions = models$tradeSeq$conditions,
       pseudotime = crv[, grep("pseudotime", colnames(crv)), drop = FALSE],
       weights = crv[, grep("cellWeights", colnames(crv)), drop = FALSE], knots = metadata(models)$tradeSeq$knots,
       name = rowData(models)$tradeSeq$name, beta = rowData(models)$tradeSeq$beta[[1]],
       Sigma = rowData(models)$tradeSeq$Sigma, converged = rowData(models)$tradeSeq$converged)
}

check <- function(models, curves) {
  slots <- read(models)
  fits <- lapply(fitted_genes, fit_of, cells, curves)
  fit <- fits[[1]]
  X <- predict(fit, type = "lpmatrix")
  p <- length(coef(fit))
  stopifnot(methods::is(models, "SingleCellExperiment"), nrow(models) == 5, identical(slots$name, rownames(models)),
            identical(dimnames(slots$beta), list(rownames(models), make.names(names(coef(fit)), unique = TRUE))),
            is.data.frame(slots$beta), is.list(slots$Sigma), is.logical(slots$converged),
            identical(slots$converged, rownames(models) != "none"), all(is.na(slots$beta["none", ])),
            is.na(slots$Sigma[[5]]),
            identical(class(slots$dm), "data.frame"), identical(names(slots$dm), names(fit$model)[-1]),
            identical(dim(slots$dm$U), c(400L, 1L)), same(slots$dm$offset, fit$model[["offset(offset)"]], 1e-14),
            identical(colnames(slots$X), colnames(X)), same(slots$X, X, 1e-12),
            same(slots$knots, fit$smooth[[1]]$xp, 1e-14), all(vapply(slots$Sigma[1:4], dim, c(0L, 0L)) == p),
            same(as.matrix(slots$pseudotime), cells$times, 1e-14), same(as.matrix(slots$weights), weights, 1e-14))
  for (name in setdiff(names(slots$dm), c("U", "offset(offset)"))) stopifnot(all(slots$dm[[name]] == fit$model[[name]]))
  # Coefficients are compared by what they predict: the constant is gam's by another choice of those that are 0.
  for (i in seq_along(fits)) {
    gene <- match(fitted_genes[i], rownames(models))
    errors <- function(V) sqrt(rowSums((X %*% V) * X))
    stopifnot(same(X %*% t(slots$beta[gene, ]), X %*% coef(fits[[i]]), 1e-5),
              same(errors(slots$Sigma[[gene]]), errors(vcov(fits[[i]])), 1e-4), isSymmetric(slots$Sigma[[gene]]))
  }
  slots
}

#' The row of X of a curve at pseudotimes: each column is a spline through its values in the cells of the curve.
row_of <- function(slots, curve, times) {
  time <- sub(":.*", "", curve)
  is_own <- slots$dm[[sub(".*:", "", curve)]] == 1
  columns <- grep(paste0("(", sub(":", "):", curve), "."), colnames(slots$X), fixed = TRUE)
  row <- matrix(0, length(times), ncol(slots$X))
  for (j in columns) row[, j] <- splinefun(slots$dm[[time]][is_own], slots$X[is_own, j], ties = mean)(times)
  row
}
last <- function(slots, curve) {
  max(slots$dm[[sub(":.*", "", curve)]][slots$dm[[sub(".*:", "", curve)]] == 1])
}
first <- function(slots, curve) {
  begin <- min(slots$dm[[sub(":.*", "", curve)]][slots$dm[[sub(".*:", "", curve)]] == 1])
  if (begin / last(slots, curve) < 0.01) 0 else begin
}
contrasts_of <- list(
  association = function(slots, curves) do.call(cbind, lapply(curves, function(curve) {
    rows <- row_of(slots, curve, seq(0, last(slots, curve), length.out = 2 * length(slots$knots)))
    apply(rows[-1, ], 1, `-`, rows[1, ])
  })),
  "start-vs-end" = function(slots, curves) do.call(cbind, lapply(curves, function(curve) {
    rows <- row_of(slots, curve, c(0, last(slots, curve)))
    rows[2, ] - rows[1, ]
  })),
  "diff-end" = function(slots, curves) {
    t(row_of(slots, curves[1], last(slots, curves[1])) - row_of(slots, curves[2], last(slots, curves[2])))
  },
  pattern = function(slots, curves) {
    rows <- lapply(curves, function(curve) {
      row_of(slots, curve, seq(first(slots, curve), last(slots, curve), length.out = 2 * length(slots$knots)))
    })
    t(rows[[1]] - rows[[2]])
  })
statistic <- function(beta, Sigma, L, l2fc, tolerance) {
  if (anyNA(beta)) return(c(NaN, NaN))
  change <- drop(t(L) %*% t(beta))
  change <- sign(change) * pmax(0, abs(change) - l2fc * log(2))
  decomposed <- eigen(t(L) %*% Sigma %*% L, symmetric = TRUE)
  kept <- decomposed$values > tolerance * decomposed$values[1]
  c(sum((t(decomposed$vectors[, kept]) %*% change)^2 / decomposed$values[kept]), sum(kept))
}
# The least pseudotime is 0, where tradeSeq's curves begin.
cells$times[1, ] <- 0
weights <- cbind(cells$assigned == 1, cells$assigned == 2) + 0
models <- tessera_many(cells$counts, pseudotime = cells$times, cell_weights = weights)
slots <- check(models, c("t1:l1", "t2:l2"))
for (test in names(contrasts_of)) for (l2fc in 0:1) {
  found <- tessera_curves(models, test, l2fc = l2fc)
  L <- contrasts_of[[test]](slots, c("t1:l1", "t2:l2"))
  expected <- vapply(1:5, function(i) statistic(slots$beta[i, ], slots$Sigma[[i]], L, l2fc, 0.01), c(0, 0))
  stopifnot(all.equal(rbind(found$statistic, found$df), expected, tolerance = 1e-6))
}

# Conditions, of which the first lineage's are compared
models <- tessera_many(methods::as(cells$counts + 0, "CsparseMatrix"), pseudotime = cells$times, cell_weights = weights,
                       conditions = cells$drug)
curves <- c("t1:l1_1", "t1:l1_2", "t2:l2_1", "t2:l2_2")
slots <- check(models, curves)
of_lineage <- function(curve) grep(paste0("^s\\(", sub(":", "\\\\):", curve), "\\."), colnames(slots$X))
L <- sapply(seq(1, 4, 2), function(first) {
  L <- matrix(0, ncol(slots$X), 6, dimnames = list(colnames(slots$X), NULL))
  L[cbind(of_lineage(curves[first]), 1:6)] <- 1
  L[cbind(of_lineage(curves[first + 1]), 1:6)] <- -1
  L
}, simplify = FALSE)
for (l2fc in 0:1) {
  found <- tessera_curves(models, "condition", l2fc = l2fc)
  given <- tessera_curves(models, contrasts = list(first = L[[1]], second = L[[2]]), l2fc = l2fc)
  expected <- vapply(1:5, function(i) statistic(slots$beta[i, ], slots$Sigma[[i]], do.call(cbind, L), l2fc, 0.01), c(0, 0))
  stopifnot(all.equal(rbind(found$statistic, found$df), expected, tolerance = 1e-6),
            all.equal(given$statistic, found$statistic, tolerance = 1e-9),
            all.equal(given$"statistic:second", found$"statistic:s(t2):l2_1-s(t2):l2_2", tolerance = 1e-9))
}
found <- tessera_curves(models, "pattern", terms = "s(t1):l1_1,s(t1):l1_2", points = 6)
stopifnot(identical(slots$conditions, cells$drug), is.factor(slots$conditions), found["drug", "statistic"] > 0,
          sum(grepl("^s\\(t1\\):l1_", colnames(slots$X))) == 12)

# One lineage, whose smooth has the constraint of a smooth without a by variable; fixed effects
cells$assigned <- rep(1, 400)
cells$times <- cells$times[, 1, drop = FALSE]
models <- tessera_many(cells$counts, pseudotime = cells$times, U = cells$drug)
slots <- read(models)
stopifnot(identical(colnames(slots$X), c("Ucontrol", "Udrug", sprintf("s(t1):l1.%d", 1:5))),
          identical(slots$dm$U[, "drug"], as.numeric(cells$drug == "drug")), all(slots$dm$l1 == 1))

# An experiment keeps what it has, in the rows that were fitted
experiment <- SingleCellExperiment(list(logcounts = log1p(cells$counts), counts = cells$counts))
colData(experiment)$drug <- cells$drug
rowData(experiment)$length <- 1:5
found <- tessera_many(experiment, pseudotime = cells$times, U = experiment$drug, genes = c("drug", "wave"))
rows <- match(c("drug", "wave"), rownames(models))
stopifnot(identical(rowData(found)$length, rows), identical(assayNames(found), c("logcounts", "counts")),
          identical(found$drug, cells$drug), identical(rowData(found)$tradeSeq$Sigma, slots$Sigma[rows]),
          identical(rownames(rowData(found[2, 1:9])$tradeSeq$beta[[1]]), "wave"),
          nrow(colData(found[, 1:9])$tradeSeq$dm) == 9,
          identical(coef(metadata(found)$tessera), coef(metadata(models)$tessera)[rows, ]))
summarized <- SummarizedExperiment(list(counts = cells$counts),
                                   colData = DataFrame(drug = cells$drug, t = cells$times[, 1]))
stopifnot(methods::is(tessera_many(summarized, pseudotime = cells$times), "SingleCellExperiment"),
          identical(tessera_many(summarized, ~ drug + s(t))$reml,
                    tessera_many(cells$counts, ~ drug + s(t), as.data.frame(colData(summarized)))$reml))
message <- tryCatch(tessera_many(SummarizedExperiment(list(logs = cells$counts)), ~ s(t)),
                    tessera_input = conditionMessage)
stopifnot(grepl("counts has no assay \"counts\", but \"logs\": name one of them so", message, fixed = TRUE))
none <- cells$counts["none", , drop = FALSE]
warned <- tryCatch(tessera_many(none, pseudotime = cells$times, offset = numeric(400)), warning = conditionMessage)
stopifnot(grepl("no gene has a fit of all lineages: the result is a data frame", warned, fixed = TRUE))
