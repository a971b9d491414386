# SPDX-License-Identifier: Apache-2.0
# Objects of models of every kind of term and family, with data and without: mgcv's functions of them against the engine's own
# output, and against bam's fits. `Rscript object.R all`: against bam for each model.
library(tessera)
suppressMessages(library(mgcv))
arguments <- commandArgs(TRUE)
engine <- asNamespace("tessera")

faults <- character(0)
#' The largest difference by the largest value; a text where they cannot be compared.
apart <- function(ours, theirs) {
  ours <- as.matrix(ours)
  theirs <- as.matrix(theirs)
  if (!identical(dim(ours), dim(theirs))) return(paste("shape", toString(dim(ours)), "in place of", toString(dim(theirs))))
  if (!identical(unname(is.na(ours)), unname(is.na(theirs)))) return("NA elsewhere")
  if (!length(ours)) return(0)
  max(0, abs(ours - theirs), na.rm = TRUE) / max(1e-300, abs(theirs), na.rm = TRUE)
}
same <- function(what, ours, theirs, tolerance) {
  distance <- tryCatch(apart(ours, theirs), error = function(e) conditionMessage(e))
  if (is.character(distance) || !(distance <= tolerance)) faults <<- c(faults, paste0(what, ": ", format(distance, digits = 2)))
}
holds <- function(what, condition) {
  held <- tryCatch(isTRUE(condition), error = function(e) conditionMessage(e))
  if (!isTRUE(held)) faults <<- c(faults, paste0(what, if (is.character(held)) paste0(": ", held)))
}
needs_rows <- function(what, expression) {
  message <- tryCatch({ force(expression); "an answer" }, error = conditionMessage)
  if (!grepl("data = ", message, fixed = TRUE) || grepl("\n", message)) faults <<- c(faults, paste0(what, " without data: ", message))
}
quietly <- function(expression) {
  pdf(NULL)
  on.exit(dev.off())
  suppressWarnings(utils::capture.output(value <- expression))
  invisible(value)
}

# Tables and models

set.seed(11)
n <- 400
table_of <- function(n) {
  d <- suppressMessages(gamSim(1, n, verbose = FALSE, scale = 1.5))[c("y", "x0", "x1", "x2", "x3", "f")]
  d$fac <- factor(sample(c("b", "a", "c"), n, TRUE), levels = c("b", "a", "c"))
  d$g <- factor(sample(paste0("s", 1:8), n, TRUE))
  d$o <- factor(sample(c("l", "m", "h"), n, TRUE), levels = c("l", "m", "h"), ordered = TRUE)
  d$num <- rnorm(n)
  d$h <- runif(n, 0, 24)
  d$e <- runif(n, 1, 4)
  d$w <- runif(n, 0.3, 2)
  d$year <- sample(2001:2004, n, TRUE)
  eta <- (d$f - mean(d$f)) / 6 + rnorm(8, 0, 0.4)[d$g] + 0.3 * as.integer(d$fac) * sin(5 * d$x2) + 0.3 * cos(d$h * pi / 12)
  mu <- exp(eta)
  d$y <- 3 * eta + rnorm(n)
  d$yb <- rbinom(n, 1, plogis(eta))
  d$answer <- factor(ifelse(d$yb == 1, "yes", "no"))
  d$yp <- rpois(n, mu)
  d$ynb <- rnbinom(n, mu = mu, size = 2)
  d$yg <- rgamma(n, 2, 2 / mu)
  d$yt <- rTweedie(mu, 1.5, 1)
  d$ys <- eta + 0.4 * rt(n, 5)
  d$yu <- pmin(pmax(rbeta(n, 6 * plogis(eta), 6 * plogis(-eta)), 1e-5), 1 - 1e-5)
  d$suc <- rbinom(n, 5, plogis(eta))
  d$fail <- 5L - d$suc
  d$start <- seq_len(n) %% 40 == 1
  d
}
d <- table_of(n)
others <- d[sample(n, 50), ]
others$x2[1:2] <- c(1.1, 0.5)
others$x3[3] <- -0.2

model <- function(formula, family = "gaussian", options = character(0), bam = list(), nested = FALSE, ...)
  list(formula = formula, family = family, options = options, bam = bam, nested = nested, ...)
models <- list(
  ps = model(y ~ s(x2, bs = "ps", k = 12) + s(h, bs = "cp", k = 8), bam = list()),
  cr = model(y ~ s(x2, bs = "cr", k = 12) + s(x3, bs = "cs", k = 8)),
  cc = model(y ~ s(h, bs = "cc", k = 10), options = c(knots = "h=0,24"), bam = list(knots = list(h = c(0, 24)))),
  bs = model(y ~ s(x2, bs = "bs", k = 10) + s(x1, bs = "bs", m = c(2, 1), k = 8)),
  tp = model(y ~ s(x2) + s(x3, m = 3) + s(x1, m = 1)),
  ts = model(y ~ s(x2, bs = "ts") + s(x3)),
  tp2 = model(y ~ s(x0, x1, k = 25)),
  tp3 = model(y ~ s(x0, x1, x2, k = 20)),
  m3 = model(y ~ s(x0, x1, k = 20, m = 3)),
  ds = model(y ~ s(x0, x1, bs = "ds", k = 20) + s(x2, x3, bs = "ds", k = 15, m = c(1, 0.5))),
  gp = model(y ~ s(x2, bs = "gp", k = 10) + s(x0, x1, bs = "gp", k = 12, m = c(2, 0.4)) + s(x3, bs = "gp", m = c(-1, 0.5))),
  te = model(y ~ te(x0, x2, bs = "cr", k = 5)),
  mixed = model(y ~ te(x0, x2, bs = c("tp", "ps"), k = c(5, 6))),
  te3 = model(y ~ te(x0, x1, x2, k = c(3, 4, 3))),
  plane = model(y ~ te(x0, x1, x2, d = c(2, 1), bs = c("tp", "cr"), k = c(10, 4))),
  ti = model(y ~ s(x0, bs = "cr", k = 8) + s(x2, bs = "cr", k = 8) + ti(x0, x2, bs = "cr", k = 5)),
  titp = model(y ~ ti(x0, bs = "tp") + ti(x2) + ti(x0, x2, k = 5, bs = "tp")),
  t2 = model(y ~ t2(x0, x2, bs = "cr", k = 5)),
  t2tp = model(y ~ t2(x0, x2, k = 5, bs = "tp")),
  full = model(y ~ t2(x0, x2, k = 4, full = TRUE)),
  t23 = model(y ~ t2(x0, x1, x2, k = 3)),
  by = model(y ~ fac + s(x2, by = fac, bs = "cr", k = 8)),
  bytp = model(y ~ fac + s(x2, by = fac, k = 8) + te(x0, x3, by = fac, k = 3)),
  number = model(y ~ s(x2, by = num, k = 8) + num),
  ordered = model(y ~ o + s(x2, k = 6) + s(x2, by = o, k = 6)),
  re = model(y ~ s(x2) + s(g, bs = "re") + s(g, num, bs = "re")),
  res = model(y ~ s(x2) + s(fac, g, bs = "re") + s(num, bs = "re")),
  tere = model(y ~ te(x2, g, bs = c("cr", "re"), k = 5)),
  fs = model(y ~ s(x2, g, bs = "fs", k = 6)),
  fscr = model(y ~ s(x2, g, bs = "fs", k = 6, xt = "cr")),
  fs2 = model(y ~ s(x1, x2, g, bs = "fs", k = 10)),
  sz = model(y ~ s(x2, k = 8) + s(fac, x2, bs = "sz", k = 8)),
  sz2 = model(y ~ s(fac, o, x2, bs = "sz", k = 5, xt = "ps") + s(x3, g, bs = "sz", xt = "cr", k = 5)),
  parametric = model(y ~ fac * num + s(x2)),
  computed = model(y ~ log(e) + poly(x1, 2) + s(sqrt(x0)) + splines::ns(num, 3)),
  coded = model(y ~ cut(x0, 3) + I(x1 > 0.5) + factor(year) + scale(num) + relevel(fac, "a") + s(x2)),
  scale = model(y ~ o * fac + s(x2)),
  none = model(y ~ fac - 1 + s(x2)),
  linear = model(y ~ fac + num),
  side = model(y ~ s(x0, bs = "cr", k = 6) + te(x0, x2, bs = "cr", k = 5), nested = TRUE),
  point = model(y ~ s(x2, pc = 0.3) + s(x1, bs = "cr", k = 6, pc = 0.5)),
  fixed = model(y ~ s(x2, k = 5, fx = TRUE) + s(x1)),
  id = model(y ~ s(x0, id = 1, k = 6) + s(x1, id = 1, k = 6)),
  sp = model(y ~ s(x2, sp = 0.3) + s(x1)),
  select = model(y ~ s(x2, bs = "cr") + s(x3, bs = "cr"), options = c(select = "true"), bam = list(select = TRUE)),
  gamma = model(y ~ s(x2), options = c(gamma = "1.4"), bam = list(gamma = 1.4)),
  weights = model(y ~ s(x2) + fac, options = c(weights = "w"), bam = list(weights = quote(w))),
  subset = model(y ~ s(x2) + fac, options = c(subset = "x0 < 0.8"), bam = list(subset = quote(x0 < 0.8))),
  rho = model(y ~ s(x2) + s(x1), options = c(rho = "0.3", "ar-start" = "start"), bam = list(rho = 0.3, AR.start = quote(start))),
  offset = model(yp ~ s(x2) + offset(log(e)), "poisson"),
  given = model(yp ~ s(x2), "poisson", options = c(offset = "log(e)"), bam = list(offset = quote(log(e)))),
  binomial = model(yb ~ s(x2) + fac, "binomial"),
  answer = model(answer ~ s(x2) + fac, "binomial"),
  counts = model(cbind(suc, fail) ~ s(x2) + fac, "binomial"),
  probit = model(yb ~ s(x2), "quasibinomial(probit)"),
  quasipoisson = model(yp ~ s(x2) + fac, "quasipoisson"),
  Gamma = model(yg ~ s(x2) + fac, "Gamma(log)"),
  inverse = model(yg ~ s(x2), "inverse.gaussian(log)"),
  quasi = model(yg ~ s(x2), "quasi(log, mu^2)"),
  nb = model(ynb ~ s(x2) + s(x1, bs = "cr"), "nb"),
  tw = model(yt ~ s(x2) + s(x1, bs = "cr"), "tw"),
  Tweedie = model(yt ~ s(x2), "Tweedie(1.4, link=\"log\")"),
  scat = model(ys ~ s(x2) + s(x1), "scat"),
  betar = model(yu ~ s(x2) + fac, "betar"))
chosen <- intersect(arguments, names(models))
if (length(chosen)) models <- models[chosen]

#' The model of the engine: its pointer and the file of it.
fit_of <- function(one) {
  table <- .Call(engine$C_table, d)
  options <- c(family = one$family, one$options)
  pointer <- .Call(engine$C_fit, paste(deparse(one$formula, 500), collapse = " "), table, options, NULL)
  file <- tempfile(fileext = ".json")
  .Call(engine$C_save, pointer, file)
  list(pointer = pointer, file = file)
}
predicted <- function(fit, table, ...) .Call(engine$C_predict, fit$pointer, .Call(engine$C_table, table), c(...))

bam_of <- function(one) {
  arguments <- c(list(one$formula, data = quote(d), family = if (grepl("(", one$family, fixed = TRUE)) str2lang(one$family) else as.symbol(one$family)),
                 one$bam)
  if (one$nested) return(eval(as.call(c(list(quote(gam), method = "REML", control = quote(gam.control(epsilon = 1e-11))), arguments))))
  eval(as.call(c(list(quote(bam), chunk.size = 1e5, control = quote(gam.control(epsilon = 1e-11, maxit = 300))), arguments)))
}

# The engine's own output

#' Predictions of every type, of the rows of `table`.
same_predictions <- function(what, m, fit, table) {
  design <- predict(m, table, type = "lpmatrix")
  own <- predicted(fit, table, type = "lpmatrix")
  holds(paste(what, "names"), setequal(colnames(design), colnames(own)))
  same(paste(what, "lpmatrix"), design[, colnames(own)], own, 1e-10)
  for (type in c("link", "response", "terms", "iterms")) {
    found <- predict(m, table, type = type, se.fit = TRUE)
    own <- predicted(fit, table, type = type, se = "true")
    is_se <- grepl(".se$|^se$", colnames(own))
    if (type %in% c("terms", "iterms")) holds(paste(what, type, "names"), identical(colnames(found$fit), colnames(own)[!is_se]))
    same(paste(what, type), found$fit, own[, !is_se], 1e-8)
    same(paste(what, type, "se"), found$se.fit, own[, is_se], 1e-8)
  }
}

same_summary <- function(what, m, fit) {
  own <- jsonlite::fromJSON(.Call(engine$C_summary, fit$pointer))
  found <- summary(m)
  holds(paste(what, "rows"), found$n == own$n && nobs(m) == own$n)
  if (length(m$smooth)) {
    is_effect <- own$smooths$kind %in% c("re", "fs") | vapply(m$smooth, function(s) s$null.space.dim == 0, NA)
    same(paste(what, "edf"), found$s.table[, 1], own$smooths$edf, 1e-8)
    same(paste(what, "reference df"), found$s.table[, 2], own$smooths$df, 1e-6)
    same(paste(what, "statistic"), found$s.table[, 3], own$smooths$statistic, 1e-6)
    holds(paste(what, "p-values"), max(abs(found$s.table[, 4] - own$smooths$p_value)) < 1e-5)
  }
  same(paste(what, "parametric"), found$p.table[own$coefficients$name, , drop = FALSE], as.matrix(own$coefficients[, -1]), 1e-8)
  if (!is.null(found$r.sq) && !is.null(own$r_squared_adjusted)) same(paste(what, "R-squared"), found$r.sq, own$r_squared_adjusted, 1e-8)
  same(paste(what, "deviance explained"), found$dev.expl, own$deviance_explained, 1e-8)
  value <- function(name) .Call(engine$C_value, fit$pointer, name)
  if (is.finite(value("AIC"))) {
    same(paste(what, "AIC"), AIC(m), value("AIC"), 1e-8)
    same(paste(what, "logLik"), as.numeric(logLik(m)), value("log_likelihood"), 1e-8)
    same(paste(what, "BIC"), BIC(m), -2 * value("log_likelihood") + log(value("n")) * value("log_likelihood_df"), 1e-8)
  }
}

#' What the object gives without rows; with them it is the same.
same_without_rows <- function(what, m, m0) {
  same(paste(what, "vcov"), vcov(m0), vcov(m), 0)
  same(paste(what, "vcov frequentist"), vcov(m0, freq = TRUE), vcov(m, freq = TRUE), 0)
  alike <- setdiff(names(m0), c("model", "call", "smooth", "terms", "pterms", "family"))
  holds(paste(what, "slots"), identical(m0[alike], m[alike]))
  holds(paste(what, "smooths"), isTRUE(all.equal(m0$smooth, m$smooth)))
  for (f in c("summary", "anova", "AIC", "BIC", "logLik", "gam.vcomp", "df.residual", "deviance", "coef")) {
    found <- tryCatch(quietly(do.call(f, list(m0))), error = conditionMessage)
    expected <- tryCatch(quietly(do.call(f, list(m))), error = conditionMessage)
    holds(paste(what, f), isTRUE(all.equal(found, expected, check.attributes = FALSE)))
  }
  of_plots <- lapply(list(m0, m), function(one) tryCatch({
    lapply(quietly(plot(one, rug = FALSE, pages = 1, too.far = 0, seWithMean = TRUE)), `[`, c("x", "y", "fit", "se"))
  }, error = conditionMessage))
  holds(paste(what, "plot"), isTRUE(all.equal(of_plots[[1]], of_plots[[2]])))
}

#' Residuals and what mgcv makes of them, of an object with data.
same_rows <- function(what, m, fit, one) {
  table <- .Call(engine$C_table, d)
  for (type in c("deviance", "pearson", "response", "working", "scaled.pearson")) {
    own <- tryCatch(.Call(engine$C_residuals, fit$pointer, table, c(type = type))[, 1], error = function(e) NULL)
    if (!is.null(own) && !all(is.nan(own))) same(paste(what, type, "residuals"), suppressWarnings(residuals(m, type = type)), own[!is.nan(own)], 1e-8)
  }
  same(paste(what, "model.matrix"), model.matrix(m) %*% coef(m) + m$offset, m$linear.predictors, 1e-10)
  # As bam's, predictions are without the offset of the call.
  same(paste(what, "predict"), predict(m), m$linear.predictors - rowSums(cbind(0, m$model[["(offset)"]])), 1e-10)
  same(paste(what, "fitted"), fitted(m), m$family$linkinv(m$linear.predictors), 1e-10)
  if (length(m$smooth)) same(paste(what, "exclude"), predict(m, others, exclude = m$smooth[[1]]$label, newdata.guaranteed = TRUE),
       predict(m, others, exclude = m$smooth[[1]]$label), 0)
}

#' bam's own object of the model: where they differ, fREML decides.
same_as_bam <- function(what, m, one) {
  b <- suppressWarnings(bam_of(one))
  extra <- if (!one$nested) setdiff(names(b), c(names(m), "G", "Sl", "qrx", "db.drho", "hat", "wt", "NA.action", "yX.last"))
  holds(paste(what, "slots of bam:", toString(extra)), !length(extra))
  for (slot in if (!one$nested) c("nsdf", "df.null", "assign", "xlevels", "contrasts", "AR1.rho", "method", "optimizer", "rank", "boundary"))
    holds(paste(what, slot), identical(unname(c(m[[slot]])), unname(c(b[[slot]]))) || isTRUE(all.equal(m[[slot]], b[[slot]])))
  for (slot in c("y", "prior.weights", "offset")) same(paste(what, slot), m[[slot]], b[[slot]], 1e-14)
  holds(paste(what, "names"), identical(names(coef(m)), names(coef(b))) && identical(names(m$sp), names(b$sp)))
  holds(paste(what, "model frame"), isTRUE(all.equal(m$model, b$model, check.attributes = FALSE)) && identical(names(m$model), names(b$model)))
  holds(paste(what, "var.summary"), isTRUE(all.equal(m$var.summary, b$var.summary, check.attributes = FALSE, tolerance = 1e-3)) && identical(names(m$var.summary), names(b$var.summary)))
  holds(paste(what, "family"), m$family$link == b$family$link && (m$family$family == b$family$family || inherits(b$family, "extended.family")))
  for (i in seq_along(b$smooth)) {
    ours <- m$smooth[[i]]
    theirs <- b$smooth[[i]]
    missing <- setdiff(names(theirs), c(names(ours), "S", "C", "Cp", "fac", "ind", "XP", "ord", "Xb", "np", "mp", "L", "margin", "D", "m", "udrop", "rind", "tensor.possible", "Sp"))
    holds(paste(what, theirs$label, "slots", toString(missing)), !length(missing))
    for (slot in c("term", "by", "by.level", "label", "dim", "bs.dim", "first.para", "last.para", "null.space.dim", if (!inherits(theirs, c("fs.interaction", "sz.interaction"))) "df", "p.order", "id", "fixed"))
      holds(paste(what, theirs$label, slot, deparse1(ours[[slot]]), deparse1(theirs[[slot]])), isTRUE(all.equal(ours[[slot]], theirs[[slot]], check.attributes = FALSE)))
    holds(paste(what, theirs$label, "class"), identical(class(ours), class(theirs)))
  }
  range <- diff(range(b$linear.predictors))
  if (max(abs(m$linear.predictors - b$linear.predictors)) > 1e-5 * range) {
    holds(paste(what, "predictors by", max(abs(m$linear.predictors - b$linear.predictors)) / range, "and fREML", m$gcv.ubre, b$gcv.ubre), m$gcv.ubre <= b$gcv.ubre + 1e-6)
    return(invisible())
  }
  # bam has other constraints: coefficients differ, and fREML by a constant.
  edf_of <- function(object) vapply(object$smooth, function(s) sum(object$edf[s$first.para:s$last.para]), 0)
  same(paste(what, "edf"), c(sum(m$edf), edf_of(m)), c(sum(b$edf), edf_of(b)), 1e-4)
  if (is.finite(AIC(m))) holds(paste(what, "AIC", AIC(m), AIC(b)), abs(AIC(m) - AIC(b)) < 0.05)
  same(paste(what, "fitted"), fitted(m), fitted(b), 1e-5)
  same(paste(what, "deviance residuals"), residuals(m), residuals(b), 1e-4)
  same(paste(what, "weights"), m$weights, b$weights, 1e-4)
  if (!is.null(m$std.rsd)) same(paste(what, "std.rsd"), m$std.rsd, b$std.rsd, 1e-4)
  for (slot in c("deviance", if (all(m$offset == 0)) "null.deviance", "sig2", "df.residual", "min.edf")) same(paste(what, slot), m[[slot]], b[[slot]], 1e-4)
  if (!length(m$smooth)) return(invisible())
  same(paste(what, "gam.vcomp"), unlist(quietly(gam.vcomp(m, rescale = TRUE))), unlist(quietly(gam.vcomp(b, rescale = TRUE))), 1e-2)
  # Of dependent columns, as of a random effect beside the intercept, mgcv's decomposition is rounding.
  measures <- list(concurvity(m), concurvity(b))
  if (all(measures[[2]][1, -1] < 1 - 1e-8)) holds(paste(what, "concurvity"), max(abs(measures[[1]][1:2, ] - measures[[2]][1:2, ])) < 1e-6)
  set.seed(3)
  checked <- k.check(m)
  set.seed(3)
  same(paste(what, "k.check"), checked, k.check(b), 1e-3)
  holds(paste(what, "gam.check"), length(quietly(gam.check(m))) >= 0)
}

of_bam <- c("ps", "tp", "te", "ti", "t2", "by", "re", "fs", "sz", "parametric", "coded", "side", "select", "id", "sp", "weights", "rho", "offset", "answer", "counts", "Gamma", "nb")
if (length(arguments)) of_bam <- names(models)
for (name in names(models)) {
  fit <- tryCatch(fit_of(models[[name]]), error = function(e) paste("fit:", conditionMessage(e)))
  with <- tryCatch(read_tessera(fit$file, data = d), error = function(e) paste("with data:", conditionMessage(e)))
  without <- tryCatch(read_tessera(fit$file), error = function(e) paste("without data:", conditionMessage(e)))
  failed <- Filter(is.character, list(with, without))
  if (length(failed)) { faults <- c(faults, paste(name, unlist(failed))); next }
  same_predictions(name, with, fit, others)
  same_predictions(paste(name, "without data"), without, fit, others)
  same_summary(name, with, fit)
  same_summary(paste(name, "without data"), without, fit)
  same_without_rows(name, with, without)
  same_rows(name, with, fit, models[[name]])
  if (name %in% of_bam) tryCatch(same_as_bam(name, with, models[[name]]), error = function(e) faults <<- c(faults, paste(name, "bam:", conditionMessage(e))))
}
writeLines(faults)
