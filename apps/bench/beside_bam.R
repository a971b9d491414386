#!/usr/bin/env Rscript
# SPDX-License-Identifier: Apache-2.0
# Fits the models of `tessera-bench fit` by mgcv, with tessera-bench beside it in the same run: medians of seconds, and
# their ratio. The data are drawn by R, in the shape of tessera-bench's own.
#
#     Rscript beside_bam.R TESSERA_BENCH [MODELS [ROWS [THREADS [ROUNDS]]]]     # G4,G10,B4 1e6 2 3
suppressMessages(library(mgcv))
given <- commandArgs(TRUE)
argument <- function(i, default) if (length(given) >= i) given[i] else default
bench <- normalizePath(argument(1, "build/default/bin/tessera-bench"))
models <- strsplit(argument(2, "G4,G10,B4"), ",")[[1]]
n <- as.numeric(argument(3, "1e6"))
threads <- as.integer(argument(4, "2"))
rounds <- as.integer(argument(5, "3"))

predictor <- function(x, number) {
  eta <- 0
  for (i in seq_along(x)) eta <- eta + sin(pi * (1 + 0.5 * i) * x[[i]] + i + number) / (1 + 0.2 * i)
  eta
}

# The data, formulas and family of a model.
simulated <- function(model) {
  set.seed(1)
  d <- as.data.frame(replicate(if (model == "G10") 10 else 4, runif(n)))
  names(d) <- paste0("x", seq_along(d))
  eta <- predictor(d, 0)
  second <- predictor(if (model == "LS4") d[1:2] else d, 1)
  d$y <- switch(model,
    G4 = , G10 = , TP4 = eta + rnorm(n), B4 = rbinom(n, 1, plogis(eta)), NB4 = rnbinom(n, size = 2, mu = exp(eta)),
    TW4 = rTweedie(exp(eta), 1.5, 2), OC4 = 1 + colSums(outer(c(-1, 0, 1.5), eta + rlogis(n), "<")),
    LS4 = eta + exp(0.5 * second) * rnorm(n),
    MN4 = { at <- runif(n) * (1 + exp(eta) + exp(second)); (at >= 1) + (at >= 1 + exp(eta)) })
  smooths <- function(count) paste0("s(x", seq_len(count), ", bs = '", if (model == "TP4") "tp" else "ps", "', k = 20)", collapse = " + ")
  formula <- as.formula(paste("y ~", smooths(ncol(d) - 1)))
  if (model == "LS4") formula <- list(formula, as.formula(paste("~", smooths(2))))
  if (model == "MN4") formula <- list(formula, as.formula(paste("~", smooths(4))))
  family <- switch(model, B4 = binomial(), NB4 = nb(), TW4 = tw(), OC4 = ocat(R = 4), LS4 = gaulss(), MN4 = multinom(2), gaussian())
  list(data = d, formula = formula, family = family)
}

# Several linear predictors need gam; for LS4 the optimizer "efs" is twelve times faster than gam's default.
peer_seconds <- function(of) {
  system.time(if (is.list(of$formula)) gam(of$formula, of$family, of$data, optimizer = "efs")
              else bam(of$formula, of$family, of$data, discrete = TRUE, nthreads = threads))[["elapsed"]]
}

own_seconds <- function(model) {
  lines <- system2(bench, c("--json", "--threads", threads, "--device", "cpu", "--repeats", 5, "fit", "--models", model, "--rows",
                            format(n, scientific = FALSE)), stdout = TRUE, stderr = FALSE)
  whole <- grep('"what":"tessera"', lines, value = TRUE, fixed = TRUE)
  as.numeric(sub('.*"median":([^,]*),.*', "\\1", whole[1]))
}

cat(R.version.string, "; mgcv", as.character(packageVersion("mgcv")), ";", extSoftVersion()[["BLAS"]], "; threads", threads, "\n")
for (model in models) {
  of <- simulated(model)
  both <- replicate(rounds, c(peer_seconds(of), own_seconds(model)))
  m <- apply(both, 1, median)
  cat(sprintf("%-4s %9.0f rows   mgcv %8.3f s   tessera %7.4f s   ratio %5.1f\n", model, n, m[1], m[2], m[1] / m[2]))
}
