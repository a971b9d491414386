# SPDX-License-Identifier: Apache-2.0
# Functions that work on an object without data, and functions that ask for data; objects in an R process with only
# mgcv; other packages.
library(tessera)
suppressMessages(library(mgcv))
engine <- asNamespace("tessera")

faults <- character(0)
fault <- function(...) faults <<- c(faults, paste0(...))
quietly <- function(expression) {
  pdf(NULL)
  on.exit(dev.off())
  suppressMessages(suppressWarnings(utils::capture.output(value <- expression)))
  invisible(value)
}
of <- function(f, m) tryCatch(quietly(f(m)), error = function(e) paste("error:", conditionMessage(e)))

script <- sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE), fixed = TRUE)
source(file.path(if (length(script)) dirname(script) else ".", "support", "table.R"))
others <- data.frame(x = c(0.2, 0.5, 0.9), z = 0.4, fac = c("a", "c", "b"), g = c("b", "a", "f"))
typed <- transform(others, fac = factor(fac, levels = levels(d$fac)), g = factor(g, levels = levels(d$g)))

saved <- function(formula, family) {
  file <- tempfile(fileext = ".json")
  pointer <- .Call(engine$C_fit, deparse1(formula), .Call(engine$C_table, d), c(family = family, sample = "1"), NULL)
  .Call(engine$C_save, pointer, file)
  file
}
files <- list(gaussian = saved(y ~ fac + s(x) + s(z, bs = "cr", k = 6) + s(g, bs = "re"), "gaussian"),
              binomial = saved(yb ~ fac + te(x, z, k = 4) + s(g, bs = "re"), "binomial"))

answers <- list(
  "predict" = function(m) predict(m, others, se.fit = TRUE),
  "predict response" = function(m) predict(m, others, type = "response"),
  "predict terms" = function(m) predict(m, others, type = "terms", se.fit = TRUE),
  "predict iterms" = function(m) predict(m, others, type = "iterms", se.fit = TRUE),
  "predict lpmatrix" = function(m) predict(m, others, type = "lpmatrix"),
  "predict.gam" = function(m) predict.gam(m, others),
  "exclude" = function(m) predict(m, others, exclude = "s(g)"),
  "newdata.guaranteed" = function(m) predict(m, typed, newdata.guaranteed = TRUE),
  "unconditional" = function(m) predict(m, others, se.fit = TRUE, unconditional = TRUE),
  "plot" = function(m) lapply(plot(m, pages = 1, rug = FALSE, too.far = 0), `[`, c("x", "y", "fit", "se")),
  "plot with mean" = function(m) {
    plots <- plot(m, pages = 1, rug = FALSE, too.far = 0, seWithMean = TRUE, shade = TRUE, scheme = 2)
    lapply(plots, `[`, c("x", "fit"))
  },
  "summary" = function(m) summary(m)[c("p.table", "pTerms.table", "s.table", "r.sq", "dev.expl", "n", "scale")],
  "summary freq" = function(m) summary(m, freq = TRUE)$p.table,
  "print" = function(m) { print(m); print(summary(m)); print(anova(m)) },
  "anova" = function(m) anova(m)[c("pTerms.table", "s.table")],
  "vcov" = vcov,
  "vcov freq" = function(m) vcov(m, freq = TRUE),
  "vcov unconditional" = function(m) vcov(m, unconditional = TRUE),
  "vis.gam" = function(m) vis.gam(m, view = c("x", "z"), plot.type = "contour", type = "response"),
  "vis.gam of a factor" = function(m) vis.gam(m, view = c("x", "fac")),
  "AIC" = AIC, "BIC" = BIC, "logLik" = logLik, "nobs" = nobs, "coef" = coef,
  "deviance" = deviance, "df.residual" = df.residual,
  "str" = function(m) is.null(str(m)), "formula" = formula, "family" = function(m) family(m)$family, "extractAIC" = extractAIC,
  "confint" = function(m) confint.default(m),
  "gam.vcomp" = gam.vcomp, "sp.vcov" = sp.vcov, "rmvn" = function(m) { set.seed(1); rmvn(3, coef(m), vcov(m)) },
  "terms" = function(m) attr(terms(m), "term.labels"), "sigma" = function(m) m$sig2, "pen.edf" = pen.edf,
  "logLik df" = function(m) attr(logLik(m), "df"))
needs_rows <- list(
  "residuals" = residuals, "pearson" = function(m) residuals(m, type = "pearson"), "resid" = resid, "fitted" = fitted,
  "predict without newdata" = predict, "predict.gam without newdata" = predict.gam,
  "lpmatrix" = function(m) predict(m, type = "lpmatrix"),
  "model.matrix" = model.matrix, "model.frame" = model.frame, "weights" = weights,
  "k.check" = k.check, "gam.check" = gam.check,
  "concurvity" = concurvity, "qq.gam" = qq.gam, "vcov sandwich" = function(m) vcov(m, sandwich = TRUE),
  "plot with rug" = function(m) plot(m, rug = TRUE), "plot with residuals" = function(m) plot(m, residuals = TRUE),
  "plot with too.far" = function(m) plot(m, too.far = 0.1),
  "vis.gam with too.far" = function(m) vis.gam(m, view = c("x", "z"), too.far = 0.1),
  "simulate" = simulate, "rows of model" = function(m) m$model[1:3, ], "nrow of model" = function(m) nrow(m$model),
  "head of model" = function(m) head(m$model), "cooks.distance" = cooks.distance, "rstandard" = rstandard,
  "plot of all terms" = function(m) plot(m, all.terms = TRUE))

objects <- lapply(files, function(file) list(with = read_tessera(file, data = d), without = read_tessera(file)))
for (name in names(objects)) {
  m <- objects[[name]]
  for (f in names(answers)) {
    expected <- of(answers[[f]], m$with)
    found <- of(answers[[f]], m$without)
    if (is.character(expected) && grepl("^error:", expected[1])) fault(name, " ", f, " with data: ", expected)
    difference <- all.equal(found, expected, tolerance = 1e-12)
    if (!isTRUE(difference)) fault(name, " ", f, " without data: ", difference[1], " ", if (is.character(found)) found)
  }
  for (f in names(needs_rows)) {
    found <- of(needs_rows[[f]], m$without)
    asks <- is.character(found) && length(found) == 1 && grepl("^error: .*data = ", found) && !grepl("\n", found)
    if (!asks) fault(name, " ", f, " without data: ", deparse(found)[1])
    expected <- of(needs_rows[[f]], m$with)
    if (is.character(expected) && grepl("^error:", expected[1])) fault(name, " ", f, " with data: ", expected)
  }
}

# A stored sample of rows is used only for plots; the extents are those of all rows.
sampled <- tessera_bam(y ~ fac + s(x) + te(x, z, k = 4), data = d, model = FALSE, quiet = TRUE,
                       options = list(sample = 80))
found <- of(function(m) plot(m, pages = 1, rug = TRUE), sampled)
if (is.character(found) || !isTRUE(all.equal(range(found[[1]]$x), range(d$x)))) fault("plot with a sample")
if (!grepl("data = ", of(k.check, sampled))) fault("k.check of no rows")
# If the sample has all rows, sample_rows() and partial residuals equal those of an object with data.
d$weight <- runif(n, 0.5, 2)
d$count <- rpois(n, exp(d$y / 2))
for (call in list(quote(tessera_bam(y ~ fac + s(x) + te(x, z, k = 4), d)),
                  quote(tessera_bam(count ~ s(x) + s(z) + offset(log(z + 1)), d, poisson, weights = weight, offset = x)),
                  quote(tessera_bam(count ~ s(log(x + 1)), d, nb())), quote(tessera_bam(yb ~ s(x), d, binomial)),
                  quote(tessera_bam(y ~ s(x), d, scat(), subset = z > 0.2)))) {
  with <- eval(call)
  call[c("model", "options")] <- list(FALSE, quote(list(sample = 2000)))
  without <- eval(call)
  sampled <- sample_rows(without)
  alike <- function(what, found, expected) {
    difference <- all.equal(found, expected, tolerance = 1e-8)
    if (!isTRUE(difference)) fault(deparse1(call), ": ", what, ": ", toString(difference))
  }
  for (slot in c("y", "prior.weights", "offset", "fitted.values", "linear.predictors", "weights", "residuals")) {
    alike(slot, as.numeric(sampled[[slot]]), as.numeric(with[[slot]]))
  }
  checked <- lapply(list(sampled, with), function(m) {
    set.seed(2)
    k.check(m)
  })
  alike("k.check", checked[[1]], checked[[2]])
  of_rows <- c("s.table", "p.table", "r.sq", "n")
  alike("summary", summary(sampled)[of_rows], summary(with)[of_rows])
  plots <- lapply(list(without, with), function(m) of(function(m) plot(m, residuals = TRUE, rug = TRUE), m))
  for (i in seq_along(with$smooth)) {
    alike("x of plot", plots[[1]][[i]]$x, plots[[2]][[i]]$x)
    alike("partial residuals", sort(as.numeric(plots[[1]][[i]]$p.resid)), sort(as.numeric(plots[[2]][[i]]$p.resid)))
  }
}
if (!grepl("options = list(sample = 2000)", of(sample_rows, objects$gaussian$without), fixed = TRUE)) {
  fault("sample_rows without a sample")
}

# Leverages, and what follows from them, as of gam's fit of the same criterion; bam's object has none of them.
for (formula in list(y ~ fac + s(x), yb ~ s(x) + offset(z) + te(x, z, k = 4))) {
  family <- if (formula[[2]] == "y") gaussian() else binomial("probit")
  m <- tessera_bam(formula, d, family, weights = if (formula[[2]] == "y") weight, quiet = TRUE)
  alike("trace", sum(influence(m)), sum(m$edf))
  if (formula[[2]] != "y") next  # gam's working weights of other links are observed ones
  b <- gam(formula, family, d, weights = weight, method = "REML", control = gam.control(epsilon = 1e-10))
  for (f in list(influence, cooks.distance)) {
    if (!isTRUE(all.equal(f(m), as.numeric(f(b)), tolerance = 1e-3))) fault("leverages beside gam's")
  }
  alike("residuals", rstandard(m, "pearson"), residuals(m, "scaled.pearson") / sqrt(1 - hatvalues(m)))
}
excluded <- tessera_bam(y ~ s(x), data = within(d, z[4] <- y[4] <- NA), na.action = na.exclude, quiet = TRUE)
alike("missing rows", which(is.na(influence(excluded))), 4L)
for (formula in list(y ~ s(x), count ~ s(x))) {
  related <- tessera_bam(formula, d, if (formula[[2]] == "y") gaussian() else poisson(), rho = 0.3, quiet = TRUE)
  if (!grepl("a fit with rho", of(influence, related))) fault("leverages with rho")
}

# Of a random effect of many levels the model has the variances alone: its pairs, and summary() without mgcv's tests
wide <- data.frame(x = runif(2600), id = factor(rep_len(seq_len(1030), 2600)))
wide$y <- sin(6 * wide$x) + rnorm(1030)[wide$id] + rnorm(2600)
formula <- y ~ s(x) + s(id, bs = "re")
m <- tessera_bam(formula, wide, quiet = TRUE)
b <- bam(formula, data = wide, control = gam.control(epsilon = 1e-10))
errors <- lapply(list(m, b), function(m) predict(m, wide, se.fit = TRUE)$se.fit)
if (is.null(m$tessera$tests)) fault("the random effect is not large")
if (!isTRUE(all.equal(errors[[1]], errors[[2]], tolerance = 1e-5))) fault("standard errors with a large random effect")
if (!isTRUE(all.equal(vcov(m)[900:910, 900:910], vcov(b)[900:910, 900:910], tolerance = 1e-4))) fault("pairs of levels")
alike("trace with a large random effect", sum(influence(m)), sum(m$edf))
found <- summary(m)
expected <- summary(b)
if (!isTRUE(all.equal(found$s.table["s(x)", ], expected$s.table["s(x)", ], tolerance = 1e-3)) ||
    !isTRUE(all.equal(found$s.table[, "edf"], expected$s.table[, "edf"], tolerance = 1e-4)) ||
    !identical(unname(is.na(found$s.table["s(id)", ])), c(FALSE, TRUE, TRUE, TRUE)) ||
    !identical(names(found), names(expected))) {
  fault("summary with a large random effect")
}
without <- summary(tessera_bam(formula, wide, model = FALSE, quiet = TRUE))
tables <- c("s.table", "p.table", "r.sq", "n", "dev.expl", "chi.sq", "m")
alike("summary with a large random effect, without data", without[tables], found[tables])

# A table other than the fit's, and models of earlier versions, give a message of one line.
refused <- function(what, expression, ...) {
  message <- tryCatch({ expression; "an object" }, tessera_error = conditionMessage)
  if (!all(vapply(list(...), grepl, NA, message, fixed = TRUE)) || grepl("\n", message)) fault(what, ": ", message)
}
refused("fewer rows", read_tessera(files$gaussian, data = d[-1, ]), "299 complete rows", "300")
refused("no column", read_tessera(files$gaussian, data = d[setdiff(names(d), "z")]), "no column z")
stopifnot(all.equal(fitted(read_tessera(files$gaussian, data = transform(d, y = signif(y, 15)))),  # as write.csv rounds
                    fitted(objects$gaussian$with), tolerance = 1e-12))
refused("other responses", read_tessera(files$gaussian, data = transform(d, y = rev(y))), "the values or rows of the response differ")
refused("other rows", read_tessera(files$gaussian, data = transform(d, x = rev(x))), "the deviance of its rows is")
renamed <- transform(d, fac = factor(fac, labels = c("u", "v", "w")))
refused("other levels", read_tessera(files$gaussian, data = renamed), "0 complete rows")
earlier <- file.path(Sys.getenv("TESSERA_MODELS", "../../tests/data/models"), sprintf("version_%d.json", 2:7))
for (file in earlier[file.exists(earlier)]) refused(basename(file), read_tessera(file), "does not store the range of", "data = ")

# A saved object gives the same bits in a process without this package, and no warning.
objects$ocat <- lapply(c(with = TRUE, without = FALSE), function(model) {
  tessera_bam(as.integer(cut(y, 3)) ~ s(x), data = d, family = ocat(R = 3), model = model)
})
folder <- tempfile()
dir.create(folder)
answers_of <- quote(lapply(objects, function(m) {
  pdf(NULL)
  on.exit(dev.off())
  list(predict(m$with, others, se.fit = TRUE), predict(m$with, others, type = "iterms", se.fit = TRUE),
       predict(m$without, others, type = "lpmatrix"), predict(m$without, others, type = "response"),
       summary(m$with)[c("s.table", "p.table", "r.sq", "n")], vcov(m$without), residuals(m$with),
       summary(m$without)[c("s.table", "p.table", "pTerms.table", "n")], BIC(m$without),
       lapply(plot(m$with, pages = 1), `[`, c("x", "fit", "se")), AIC(m$without))
}))
saveRDS(list(objects = objects, others = others, answers_of = answers_of), file.path(folder, "objects.rds"))
writeLines(c("options(warn = 2)", "suppressMessages(library(mgcv))", "folder <- commandArgs(TRUE)",
             "invisible(list2env(readRDS(file.path(folder, \"objects.rds\")), globalenv()))",
             "saveRDS(eval(answers_of), file.path(folder, \"answers.rds\"))",
             "for (m in objects) for (f in list(predict, model.matrix, function(m) sum(m$y), function(m) m$y * 2 > 0)) {",
             "  found <- try(suppressWarnings(f(m$without)), silent = TRUE)",
             "  stopifnot(inherits(found, \"try-error\") || all(is.na(found)))",
             "}",
             "stopifnot(!\"tessera\" %in% loadedNamespaces())"), file.path(folder, "alone.R"))
script <- shQuote(file.path(folder, "alone.R"))
status <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script, shQuote(folder)))
if (status != 0) {
  fault("the process with mgcv alone failed")
} else if (!identical(readRDS(file.path(folder, "answers.rds")), eval(answers_of))) {
  fault("other bits in the process with mgcv alone")
}

writeLines(faults)
if (length(faults)) quit(status = 1)
