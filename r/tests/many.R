# SPDX-License-Identifier: Apache-2.0
# One formula for each of many genes against gam(method = "REML"), the forms of its data, the model of tradeSeq's fitGAM
# (sources at 02a90506), and refused inputs.
library(tessera)
suppressMessages(library(mgcv))
engine <- asNamespace("tessera")
script <- sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE), fixed = TRUE)
source(file.path(if (length(script)) dirname(script) else ".", "support", "cells.R"))

# Each gene is fitted as by gam
k <- 5
d <- data.frame(t = cells$time, l = factor(cells$lineage), size = colSums(cells$counts),
                row.names = colnames(cells$counts))
many <- tessera_many(cells$counts, ~ l + s(t, by = l, bs = "cr", k = k) + offset(log(size)), d)
stopifnot(inherits(many, "tessera_many"), is.data.frame(many), identical(many$response, rownames(cells$counts)),
          identical(rownames(many), many$response), many["none", "status"] == "all_zero", is.na(many["none", "theta"]),
          all(many$status[many$response != "none"] == "converged"),
          c("edf:s(t):l1", "lambda:s(t):l2", "p:l2", "q:s(t):l2", "se:l2") %in% names(many))
new <- data.frame(t = c(1, 4, 8), l = factor(c(1, 2, 2)), size = 100)
for (gene in c("wave", "branch", "drug")) {
  fit <- gam(cells$counts[gene, ] ~ l + s(t, by = l, bs = "cr", k = 5) + offset(log(size)), data = d, family = nb(),
             method = "REML", control = exact)
  m <- tessera_model(many, gene)
  found <- predict(m, new, se.fit = TRUE)
  expected <- predict(fit, new, se.fit = TRUE)
  stopifnot(same(coef(many)[gene, ], coef(fit), 1e-5), identical(colnames(coef(many)), names(coef(fit))),
            same(found$fit, expected$fit, 1e-5), same(found$se.fit, expected$se.fit, 1e-4),
            same(vcov(m), vcov(fit), 1e-4),
            same(unlist(many[gene, c("se:(Intercept)", "se:l2")]), sqrt(diag(vcov(fit)))[1:2], 1e-4),
            same(many[gene, "theta"], fit$family$getTheta(TRUE), 1e-4),
            same(many[gene, "edf:s(t):l1"], summary(fit)$s.table[1, "edf"], 1e-4),
            same(summary(m)$s.table, summary(fit)$s.table, 1e-3), m$method == "REML", inherits(m, "gam"))
}

# Rows keep their models, and some columns are a plain frame
stopifnot(identical(coef(tessera_model(many[many$edf > 3 & !is.na(many$edf), ], "wave")),
                    coef(tessera_model(many, "wave"))),
          identical(class(many[, c("response", "edf")]), "data.frame"), identical(class(many["edf"]), "data.frame"),
          any(grepl("1 all_zero", capture.output(print(many)))), summary(many)$status[["converged"]] == nrow(many) - 1,
          any(grepl("s(t):l1", capture.output(print(summary(many))), fixed = TRUE)))

# All forms of the counts and of the table give the same bits
results <- function(...) {
  many <- tessera_many(..., quiet = TRUE)
  attributes(many) <- list(names = names(many))
  many
}
formula <- ~ l + s(t, by = l, bs = "cr", k = 5) + offset(log(size))
expected <- results(cells$counts, formula, d)
sparse <- methods::as(cells$counts + 0, "CsparseMatrix")
by_rows <- methods::as(sparse, "RsparseMatrix")
for (form in list(cells$counts + 0, as.data.frame(cells$counts), sparse, by_rows,
                  methods::as(sparse, "TsparseMatrix"))) {
  stopifnot(identical(results(form, formula, d), expected))
}
some <- c("drug", "wave")
of_some <- results(sparse, formula, d, genes = some)
of_each <- grep("^q:", names(expected), invert = TRUE)  # which do not depend on other genes
stopifnot(identical(of_some[of_each], lapply(expected[of_each], `[`, match(some, rownames(sparse)))),
          identical(results(by_rows, formula, d, genes = match(some, rownames(sparse))), of_some),
          identical(results(sparse, formula, d[rev(seq_len(nrow(d))), ], genes = some), of_some),
          identical(results(sparse, formula, as.list(d), genes = some), of_some),
          identical(with(d, results(sparse, ~ l + s(t, by = l, bs = "cr", k = 5) + offset(log(size)), genes = some)),
                    of_some),
          identical(results(sparse, deparse1(formula), d, genes = some), of_some))

# Missing counts, weights and offsets
holes <- cells$counts[some, ]
holes[1, 1:9] <- NA
weights <- ifelse(is.na(holes), 0, 1)
one <- results(holes, formula, d)
stopifnot(one$rows == c(nrow(d) - 9, nrow(d)), identical(results(holes + 0, formula, d), one),
          identical(results(cells$counts, formula, d, weights = unname(weights)[c(1, 2, 2, 2, 2), ], genes = 1:2)$rows,
                    c(nrow(d) - 9, nrow(d))),
          same(results(cells$counts[some, ], formula, d, weights = weights)$reml, one$reml, 1e-12),
          identical(results(cells$counts[some, ], formula, d, weights = rep(1, nrow(d)))$edf, of_some$edf),
          same(results(cells$counts[some, ], ~ l + s(t, by = l, bs = "cr", k = 5), d,
                       offset = matrix(log(d$size), 2, nrow(d), byrow = TRUE))$reml, of_some$reml, 1e-12))
of_family <- function(family) results(cells$counts[some, ] + 1, formula, d, family = family)$reml
stopifnot(identical(of_family(mgcv::nb()), of_family("nb")),
          identical(of_family(stats::Gamma("log")), of_family("gamma")),
          identical(of_family(stats::poisson), of_family("poisson")))

# The model of fitGAM: its assignment, knots and fits
lineages <- tessera_many(cells$counts, pseudotime = cells$times, cell_weights = cells$weights, seed = 8, sce = FALSE)
set.seed(8)
cells$assigned <- max.col(t(apply(cells$weights, 1, function(w) rmultinom(1, 1, w / sum(w)))))
assigned <- function(...) unname(engine$assigned_lineages(cells$weights, ...))
before <- .Random.seed
stopifnot(identical(assigned(8), cells$assigned), identical(before, .Random.seed),
          !identical(assigned(9), cells$assigned))
set.seed(8)
stopifnot(identical(assigned(NULL), cells$assigned))
for (gene in c("wave", "branch")) {
  fit <- fit_of(gene, cells)
  m <- tessera_model(lineages, gene)
  found <- predict(m, variables_of(cells), se.fit = TRUE)
  expected <- predict(fit, se.fit = TRUE)
  stopifnot(same(m$smooth[[1]]$xp, fit$smooth[[1]]$xp, 1e-14), same(found$fit, expected$fit, 1e-5),
            same(found$se.fit, expected$se.fit, 1e-4), same(lineages[gene, "theta"], fit$family$getTheta(TRUE), 1e-4))
}
tests <- tessera_curves(lineages, "pattern")
stopifnot(tests["branch", "p"] < 1e-6, tests["wave", "p"] > 0.001, is.na(tests["none", "p"]),
          ncol(tessera_curves(lineages, "values", points = 7)) == 1 + 2 * 7,
          tessera_curves(lineages, l2fc = 1)["wave", "statistic"] < tessera_curves(lineages)["wave", "statistic"])

warned <- function(expression) {
  text <- ""
  value <- withCallingHandlers(expression, warning = function(w) {
    text <<- conditionMessage(w)
    invokeRestart("muffleWarning")
  })
  list(value, text)
}
ends <- list(c(0:10, 0:6, 6, 5.9, 0), rep(1:3, c(11, 8, 2)))  # the ends of two lineages are nearest to one knot
stopifnot(all.equal(engine$lineage_knots(c(0:10, 0:6), rep(1:2, c(11, 7)), 4), c(0, 2 + 2 / 3, 6, 10)),
          all.equal(engine$lineage_knots(c(0, 0, 0, 1, 2), rep(1, 5), 4), c(0, 1 / 3, 2 / 3, 2)),
          all.equal(warned(engine$lineage_knots(c(0, 0, 0, 0, 0, 0, 0, 1), rep(1, 8), 4)),
                    list((0:3) / 3, "many cells have one pseudotime: knots are evenly spaced, not quantiles")),
          grepl("two ends are nearest to one", warned(engine$lineage_knots(ends[[1]], ends[[2]], 4))[[2]]))

# Effective library sizes are edgeR's
tmm <- file.path(dirname(Sys.getenv("TESSERA_MODELS")), "many", "tmm.json")
if (file.exists(tmm) && requireNamespace("jsonlite", quietly = TRUE)) {
  for (case in jsonlite::fromJSON(tmm, simplifyDataFrame = FALSE)) {
    for (counts in list(case$counts, methods::as(case$counts + 0, "CsparseMatrix"))) {
      factors <- engine$effective_sizes(counts, list()) / Matrix::colSums(counts)
      stopifnot(same(factors, case$factors, 1e-12))
    }
  }
} else {
  cat("without the factors of edgeR, in tests/data/many of Tessera's sources\n")
}

# One lineage, conditions, fixed effects
time <- cells$times[, 1]
single <- tessera_many(cells$counts, pseudotime = time, sce = FALSE)
drugs <- tessera_many(cells$counts, pseudotime = cells$times, cell_weights = cells$weights, conditions = cells$drug,
                      offset = numeric(400),
                      seed = 8, sce = FALSE)
batches <- tessera_many(cells$counts, pseudotime = time, U = as.character(cells$drug), sce = FALSE)
columns <- tessera_many(cells$counts, pseudotime = time, U = model.matrix(~ cells$drug), sce = FALSE)
of_drug <- tessera_curves(drugs, "pattern", terms = "s(t1):l1_1,s(t1):l1_2")
told <- tryCatch(tessera_many(cells$counts, pseudotime = time, conditions = rep("a", 400)), message = conditionMessage)
stopifnot("q:s(t1)" %in% names(single), sum(grepl("^edf:", names(drugs))) == 4, of_drug["drug", "p"] < 1e-3,
          of_drug["wave", "p"] > 0.001, same(na.omit(batches$reml), na.omit(columns$reml), 1e-8),
          c("U1", "U2") %in% names(columns), grepl("all cells have the same", told))

# Refused: one line that says what, where, and what to do
refused <- function(expression, class, text) {
  condition <- tryCatch(expression, error = function(e) e)
  stopifnot(inherits(condition, class), !grepl("\n", conditionMessage(condition)),
            grepl(text, conditionMessage(condition), fixed = TRUE))
}
y <- cells$counts
w <- cells$weights
of_lineages <- function(counts = y, pseudotime = cells$times, cell_weights = w, ...) {
  tessera_many(counts, pseudotime = pseudotime, cell_weights = cell_weights, ...)
}
changed <- function(x, ...) {
  x[...] <- NA
  x
}
refused(tessera_many(y), "tessera_usage", "give either formula and data, or pseudotime and cell_weights")
refused(tessera_many(y, formula, d, U = d$l), "tessera_usage", "argument U does not go with formula: write terms")
refused(of_lineages(knots = list()), "tessera_usage", "argument knots does not go with pseudotime")
refused(tessera_many("counts.csv", formula, d), "tessera_usage", "counts is character: give a matrix of numbers")
refused(tessera_many(array("1", dim(y)), formula, d), "tessera_usage", "counts is a matrix of character: give")
refused(tessera_many(t(y), formula, d), "tessera_input",
        "data has 400 rows, but counts has 5 cells: if its rows are cells")
refused(tessera_many(y[, -1], formula, d), "tessera_input",
        "data has 400 rows, but counts has 399 cells: give one for each")
refused(tessera_many(y[c(1, 1), ], formula, d), "tessera_input", "counts has several genes 'wave': give each a name")
refused(tessera_many(log1p(y), formula, d), "tessera_input",
        "is not a count: a whole number of at least 0: give raw counts")
refused(tessera_many(-y, formula, d), "tessera_input", "response 'wave', row")
refused(tessera_many(y, formula, d, genes = c("wave", "sox2")), "tessera_input", "genes: counts has no gene 'sox2'")
refused(tessera_many(y, formula, d, genes = 6), "tessera_input", "genes: counts has no gene '6'")
refused(tessera_many(y, formula, d, genes = c(1, 1)), "tessera_input", "genes has '1' twice")
refused(tessera_many(y, formula, d, genes = character(0)), "tessera_input", "genes selects no gene")
refused(tessera_many(y, y ~ s(t), d), "tessera_usage", "formula has no response, because each gene is one")
refused(tessera_many(y, ~ s(age), d), "tessera_input", "formula: data has no column 'age': add it")
refused(tessera_many(y, ~ s(t) + sum, d), "tessera_input", "formula: data has no column 'sum': add it")
refused(tessera_many(y, ~ s(t), d, offset = d$size), "tessera_usage",
        "offset: give a matrix of genes x cells; an offset")
refused(tessera_many(y, ~ s(t), d, weights = y[-1, ]), "tessera_input", "weights has 4 rows, but counts has 5 genes")
refused(tessera_many(y, ~ s(t), d, weights = 1:3), "tessera_input", "weights has 3 values, but counts has 400 cells")
refused(tessera_many(y, ~ s(t), d, family = binomial("probit")), "tessera_usage",
        "the link of many models is logit, not")
refused(tessera_many(y, ~ s(t), d, family = "tw"), "tessera_usage", "support the families nb, poisson")
refused(tessera_many(y, ~ s(t), d, options = list(other = 1)), "tessera_usage", "other")
renamed <- d
row.names(renamed)[3:4] <- c("cell1000", "cell1001")
refused(tessera_many(y, ~ s(t), renamed), "tessera_input",
        "data has no cell 'cell3', which counts has (2 of 400 are missing): give the same names in both")
refused(of_lineages(pseudotime = `rownames<-`(cells$times, rownames(renamed))), "tessera_input",
        "pseudotime has no cell 'cell3'")
refused(of_lineages(pseudotime = cells$times[0, ]), "tessera_input",
        "pseudotime has no cells or lineages: give cells x lineages")
refused(of_lineages(pseudotime = array("1", dim(w))), "tessera_input", "pseudotime is of character: give numbers")
refused(of_lineages(cell_weights = NULL), "tessera_usage", "pseudotime has 2 lineages: give cell_weights")
refused(of_lineages(cell_weights = w[, 1]), "tessera_input",
        "cell_weights and pseudotime have 1 and 2 lineages: give the same")
refused(of_lineages(cell_weights = w[-1, ]), "tessera_input", "cell_weights has 399 rows, but counts has 400 cells")
refused(of_lineages(cell_weights = changed(w, 5, 2)), "tessera_input",
        "a weight of cell 'cell5' is negative or missing")
refused(of_lineages(cell_weights = replace(w, cbind(6, 1:2), 0)), "tessera_input",
        "cell 'cell6' has no weight in any lineage")
refused(of_lineages(cell_weights = w %*% diag(1:0) + 1e-300 * cbind(w[, 1] == 0, 0)), "tessera_input",
        "lineage 2 has no cells")
refused(of_lineages(pseudotime = changed(cells$times, 7, )), "tessera_input", "pseudotime of cell 'cell7' is missing")
refused(of_lineages(conditions = 1:3), "tessera_input", "conditions has 3 values, but counts has 400 cells")
refused(of_lineages(conditions = changed(cells$drug, 8)), "tessera_input", "the condition of cell 'cell8' is missing")
refused(of_lineages(conditions = seq_len(400)), "tessera_input", "has no cells of condition")
refused(of_lineages(U = changed(w, 9, 1)), "tessera_input", "U has a missing value, or is no matrix of numbers")
refused(of_lineages(offset = changed(d$size, 2)), "tessera_input", "offset of cell 'cell2' is not finite")
refused(of_lineages(offset = y), "tessera_usage", "offset is a matrix: with pseudotime, give one number for each cell")
refused(of_lineages(family = "gaussian"), "tessera_usage", "family gaussian has no library sizes: give offset")
refused(of_lineages(counts = y * rep(0:1, c(5, 1995))), "tessera_input",
        "cell 'cell1' has no count: leave the cell out")
refused(of_lineages(nknots = 2), "tessera_usage", "nknots is 2: give a whole number, 3 or more")
refused(tessera_model(many, "none"), "tessera_usage", "the response 'none' has no fit (status all_zero)")
refused(tessera_model(many, "sox2"), "tessera_usage", "no response 'sox2'")
refused(tessera_model(d, "wave"), "tessera_usage",
        "there are no models: give the result of tessera_many(covariances = TRUE)")
refused(tessera_curves(tessera_many(y, formula, d, covariances = FALSE)), "tessera_usage", "there are no models")
refused(tessera_curves(unserialize(serialize(many, NULL))), "tessera_usage", "was saved and loaded")
