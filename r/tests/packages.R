# SPDX-License-Identifier: Apache-2.0
# Packages that read mgcv's objects: with data, results for our objects equal those for bam's; without data they are the
# same or missing.
library(tessera)
suppressMessages(library(mgcv))
engine <- asNamespace("tessera")
packages <- c("emmeans", "broom", "insight", "performance", "ggeffects")
there <- packages[vapply(packages, requireNamespace, NA, quietly = TRUE)]
faults <- character(0)

script <- sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE), fixed = TRUE)
source(file.path(if (length(script)) dirname(script) else ".", "support", "table.R"))
others <- data.frame(x = c(0.2, 0.5, 0.9), z = 0.4, fac = factor(c("a", "c", "b")),
                     g = factor(c("b", "a", "f"), levels = levels(d$g)))

# Evaluated if the package is installed.
calls <- alist(
  emmeans = list(
    means = function(m) as.data.frame(emmeans::emmeans(m, ~ fac)),
    response = function(m) as.data.frame(emmeans::emmeans(m, ~ fac, type = "response")),
    "at values" = function(m) as.data.frame(emmeans::emmeans(m, ~ fac | x, at = list(x = c(0.2, 0.8)))),
    ends = function(m) as.data.frame(emmeans::emmeans(m, ~ fac + x, cov.reduce = range)),
    "with a table" = function(m) as.data.frame(emmeans::emmeans(m, ~ fac, data = d)),
    pairs = function(m) as.data.frame(graphics::pairs(emmeans::emmeans(m, ~ fac))),
    trends = function(m) as.data.frame(emmeans::emtrends(m, ~ fac, "x"))),
  broom = list(
    parametric = function(m) broom::tidy(m, parametric = TRUE),
    smooths = function(m) broom::tidy(m)[c("edf", "ref.df")],
    glance = broom::glance,
    augment = function(m) broom::augment(m)[c(".fitted", ".se.fit", ".resid")],
    "augment new rows" = function(m) broom::augment(m, newdata = others)),
  insight = list(
    predictors = insight::find_predictors, terms = insight::find_terms, formula = insight::find_formula,
    response = insight::find_response, smooths = insight::find_smooth, link = function(m) insight::link_inverse(m)(0.3),
    n = insight::n_obs, df = insight::get_df, sigma = insight::get_sigma, logLik = insight::get_loglikelihood,
    data = function(m) insight::get_data(m), values = insight::get_response, residuals = insight::get_residuals,
    predicted = function(m) as.numeric(insight::get_predicted(m, data = others))),
  performance = list(
    r2 = performance::r2, aicc = performance::performance_aicc, rmse = performance::performance_rmse,
    mae = performance::performance_mae,
    all = function(m) as.data.frame(performance::model_performance(m))[c("AIC", "AICc", "BIC", "R2")]),
  ggeffects = list(
    predict = function(m) as.data.frame(ggeffects::ggpredict(m, "x")),
    groups = function(m) as.data.frame(ggeffects::ggpredict(m, c("x", "fac"))),
    means = function(m) as.data.frame(ggeffects::ggemmeans(m, "fac"))))

#' The numbers and texts of a result; for an error its class.
result <- function(f, m) {
  values_of <- function(x) {
    if (is.factor(x)) as.character(x) else if (is.numeric(x)) as.numeric(x) else if (is.character(x)) x else deparse1(x)
  }
  tryCatch({
    found <- suppressMessages(suppressWarnings(f(m)))
    unname(rapply(if (is.list(found)) unclass(found) else list(found), values_of, how = "unlist"))
  }, error = identity)
}
as_known <- function(values) {
  number <- suppressWarnings(as.numeric(values))
  list(number[!is.na(number)], values[is.na(number)])
}

for (name in c("gaussian", "binomial")) {
  formula <- if (name == "gaussian") y ~ fac + s(x) + s(z, bs = "cr", k = 6) + s(g, bs = "re")
             else yb ~ fac + te(x, z, k = 4) + s(g, bs = "re")
  pointer <- .Call(engine$C_fit, deparse1(formula), .Call(engine$C_table, d), c(family = name, sample = "1"), NULL)
  file <- tempfile(fileext = ".json")
  .Call(engine$C_save, pointer, file)
  m <- read_tessera(file, data = d)
  m0 <- read_tessera(file)
  b <- bam(formula, family = name, data = d, control = gam.control(epsilon = 1e-10))
  for (package in there) {
    functions <- eval(calls[[package]])
    for (what in names(functions)) {
      f <- functions[[what]]
      expected <- result(f, b)
      found <- result(f, m)
      without <- result(f, m0)
      if (inherits(expected, "error")) next
      what <- paste(name, package, what)
      difference <- if (inherits(found, "error")) conditionMessage(found)
                    else all.equal(as_known(found), as_known(expected), tolerance = 1e-4)
      if (!isTRUE(difference)) faults <- c(faults, paste(what, "beside bam:", toString(difference)))
      numbers <- if (inherits(without, "error")) numeric(0) else as_known(without)[[1]]
      # insight computes the likelihood of rows from residuals, or else uses logLik, whose variance has other degrees of
      # freedom.
      tolerance <- if (grepl("logLik|aicc|all", what)) 1e-3 else 1e-8
      if (length(numbers) && !isTRUE(all.equal(as_known(without), as_known(found), tolerance = tolerance))) {
        faults <- c(faults, paste(what, "without data:", toString(utils::head(numbers))))
      }
      if (package == "emmeans" && !length(numbers)) faults <- c(faults, paste(what, "without data:", format(without)))
    }
  }
}
# Without data, means weighted by rows are missing, and factors are crossed as in the model.
if ("emmeans" %in% there) {
  pointer <- .Call(engine$C_fit, "y ~ fac + g + s(x)", .Call(engine$C_table, d), c(sample = "1"), NULL)
  .Call(engine$C_save, pointer, file)
  means <- function(m, ...) result(function(m) as.data.frame(emmeans::emmeans(m, ~ fac, ...))$emmean, m)
  m0 <- read_tessera(file)
  if (!isTRUE(all.equal(means(m0), means(read_tessera(file, data = d))))) faults <- c(faults, "emmeans of two factors")
  if (!all(is.na(means(m0, weights = "proportional")))) faults <- c(faults, "emmeans weighted by rows without data")
}
# effects refits the formula by glm(), which fails for bam's smooths; ours are held at their mean.
if (requireNamespace("effects", quietly = TRUE)) {
  m <- tessera_bam(y ~ fac * z + s(x) + s(g, bs = "re"), data = d, quiet = TRUE)
  X <- cbind(model.matrix(~ fac * z, data.frame(fac = levels(d$fac), z = mean(d$z))), matrix(0, 3, length(coef(m)) - 6))
  found <- effects::Effect("fac", m)
  expected <- list(drop(X %*% coef(m)), sqrt(diag(X %*% vcov(m) %*% t(X))))
  same <- all.equal(c(found$fit, found$se), unlist(expected), check.attributes = FALSE)
  if (!isTRUE(same)) faults <- c(faults, paste("effects:", toString(same)))
  effects_of <- function(m) as.data.frame(effects::Effect(c("fac", "z"), m))
  m <- tessera_bam(y ~ fac * z, data = d, quiet = TRUE)
  difference <- all.equal(effects_of(m), effects_of(lm(y ~ fac * z, data = d)), tolerance = 1e-6)
  if (!isTRUE(difference)) faults <- c(faults, paste("effects without smooths:", toString(difference)))
}

writeLines(faults)
if (length(faults)) quit(status = 1)
