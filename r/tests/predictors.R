# SPDX-License-Identifier: Apache-2.0
# Objects of families with several linear predictors: results of mgcv's functions are compared with the engine's own
# output, and with gam's fits at the same smoothing parameters: of a third of the models, others each week, or by
# `Rscript predictors.R all` of all.
library(tessera)
suppressMessages(library(mgcv))
script <- sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE), fixed = TRUE)
source(file.path(if (length(script)) dirname(script) else ".", "support", "objects.R"))

set.seed(5)
n <- 400
d <- data.frame(x = runif(n), z = runif(n), v = rnorm(n), o = runif(n, 0, 0.4), w = runif(n, 0.5, 1.5),
                fac = factor(sample(c("b", "a", "c"), n, TRUE), levels = c("b", "a", "c")),
                g = factor(sample(paste0("s", 1:8), n, TRUE)))
location <- sin(6 * d$x) + 0.3 * as.integer(d$fac) + rnorm(8, 0, 0.3)[d$g]
spread <- -0.8 + 0.6 * cos(4 * d$z)
d$y <- location + exp(spread) * rnorm(n)
d$skew <- location + exp(spread) * sinh(1.1 * asinh(rnorm(n)) + 0.2)
d$positive <- rgamma(n, shape = exp(-2 * spread), scale = exp(location + 2 * spread))
d$extreme <- location - exp(spread) * log(-log(runif(n)))
d$flood <- 6 + d$extreme
rate <- exp(0.8 + location / 2)
d$count <- ifelse(runif(n) < 1 - exp(-exp(spread + 1)), qpois(runif(n, exp(-rate), 1), rate), 0)
odds <- exp(cbind(0, location, spread))
d$class <- apply(odds / rowSums(odds), 1, function(p) sample(0:2, 1, prob = p))
d$level <- factor(c("low", "middle", "top")[d$class + 1])
others <- d[sample(n, 40), ]
rownames(others) <- NULL
drops <- rpois(n, exp(location / 2) / (0.5 * exp(spread)))  # of a Tweedie response with p = 1.5
d$rain <- ifelse(drops > 0, rgamma(n, shape = pmax(drops, 1), scale = 0.5 * exp(spread + location / 2)), 0)

model <- function(formula, family, ...) list(formula = formula, family = family, arguments = list(...))
models <- list(
  gaulss = model(list(y ~ s(x) + fac, ~ s(z) + x), gaulss()),
  constant = model(list(y ~ s(x, bs = "cr", k = 8) + offset(o), ~ s(z, bs = "ps", k = 8) + offset(log(w))),
                   gaulss(b = 0.1)),
  terms = model(list(y ~ s(x, by = fac, k = 6) + fac + s(g, bs = "re"), ~ te(x, z, k = 4) + fac * v + poly(w, 2)),
                "gaulss"),
  none = model(list(y ~ s(x) - 1, ~ 1), gaulss),
  linear = model(list(y ~ fac - 1, ~ fac + x), gaulss),
  shapes = model(list(y ~ s(fac, x, bs = "sz", k = 5), ~ ti(x, k = 5) + ti(z, k = 5) + ti(x, z, k = 3)), gaulss),
  id = model(list(y ~ s(x, id = 1, k = 6) + s(z, id = 1, k = 6), ~ s(x, id = 1, k = 6)), gaulss),
  fixed = model(list(y ~ s(x) + v, ~ log(w) + s(x, k = 6) + s(z, fx = TRUE, k = 5)), gaulss),
  select = model(list(y ~ s(x), ~ s(z)), gaulss, select = TRUE),
  subset = model(list(y ~ s(x) + fac, ~ s(z)), gaulss, subset = quote(x < 0.8)),
  districts = model(list(y ~ s(x, bs = "ad", k = 12, m = 2) + s(g, bs = "mrf", xt = list(nb = list(
    s1 = "s2", s2 = c("s1", "s3"), s3 = c("s2", "s4"), s4 = c("s3", "s5"), s5 = "s4", s6 = "s7", s7 = c("s6", "s8"),
    s8 = "s7"))), ~ s(z)), gaulss),
  log_mean = model(list(positive ~ s(x) + fac, ~ s(z)), gaulss(link = list("log", "logb"), b = 0.02)),
  inverse_mean = model(list(flood ~ s(x) + fac, ~ s(z)), gaulss(link = list("inverse", "logb"))),
  root_mean = model(list(flood ~ s(x) + fac, ~ s(z)), gaulss(link = list("sqrt", "logb"))),
  gamma_scale = model(list(positive ~ s(x) + fac, ~ s(z)), gammals(link = list("identity", "identity"))),
  gumbel_scale = model(list(extreme ~ s(x) + fac, ~ s(z)), gumbls(link = list("identity", "identity"))),
  log_location = model(list(flood ~ s(x, k = 7), ~ s(z, k = 6), ~ 1), gevlss(link = list("log", "identity", "identity"))),
  gammals = model(list(positive ~ s(x) + fac, ~ s(z)), gammals()),
  gumbls = model(list(extreme ~ s(x) + fac, ~ s(z)), gumbls(b = -6)),
  gevlss = model(list(extreme ~ s(x, k = 7), ~ s(z, k = 6), ~ 1), gevlss()),
  shash = model(list(skew ~ s(x), ~ s(z), ~ fac, ~ 1), shash()),
  twlss = model(list(rain ~ s(x) + fac, ~ x, ~ s(z)), twlss()),
  twlss_bounds = model(list(rain ~ s(x), ~ s(v, k = 5), ~ s(z)),
                       twlss(link = list("sqrt", "identity", "identity"), a = 1.2, b = 1.8)),
  ziplss = model(list(count ~ s(x) + fac, ~ s(z)), ziplss()),
  multinom = model(list(class ~ s(x) + fac, ~ s(z) + fac:x), multinom(K = 2)),
  shared = model(list(y ~ s(w, k = 5) + fac, ~ s(z), 1 + 2 ~ s(x) + v - 1), gaulss),
  shared_classes = model(list(class ~ s(z), ~ fac, 2 + 1 ~ s(x, k = 7) - 1), multinom(K = 2)),
  two = model(list(class > 0 ~ s(x) + fac), multinom()))
models <- chosen(models)

fit_by <- function(f, one, ...) {
  call <- as.call(c(list(f, one$formula, family = one$family, data = quote(d)), one$arguments, list(...)))
  eval(call)
}
#' gam's fit at the smoothing parameters of `m`. If a predictor has no smooth, gam fails of the argument sp, and takes
#' the parameters in its smooths.
gam_of <- function(one, m) {
  sp <- unname(if (is.null(m$full.sp)) m$sp else m$full.sp)
  control <- list(epsilon = 1e-13, maxit = 500)
  has_smooth <- vapply(one$formula, function(formula) grepl("s\\(|t[ei]\\(", deparse1(formula)), NA)
  if (all(has_smooth)) return(suppressWarnings(fit_by(quote(gam), one, sp = sp, control = control)))
  place <- 0
  with_sp <- function(expression) {
    if (!is.call(expression)) return(expression)
    if (identical(expression[[1]], quote(s))) expression$sp <- sp[place <<- place + 1]
    else expression[-1] <- lapply(as.list(expression)[-1], with_sp)
    expression
  }
  one$formula <- lapply(one$formula, function(formula) {
    formula[[length(formula)]] <- with_sp(formula[[length(formula)]])
    formula
  })
  b <- suppressWarnings(fit_by(quote(gam), one, control = control))
  b$formula <- m$formula
  b
}
#' The largest difference in each column, relative to its range, or to its size if it is constant.
near <- function(what, ours, theirs, tolerance) {
  ours <- as.matrix(ours)
  theirs <- as.matrix(theirs)
  holds(paste(what, "shape"), identical(dim(ours), dim(theirs)) && identical(colnames(ours), colnames(theirs)))
  size <- function(x) if (diff(range(x)) > 1e-3) diff(range(x)) else max(1, abs(x))
  found <- tryCatch(max(0, apply(abs(ours - theirs), 2, max) / apply(theirs, 2, size)), error = conditionMessage)
  holds(paste(what, format(found, digits = 2)), found <= tolerance)
}

same_as_gam <- function(what, m, b) {
  for (type in c("link", "response", "terms")) {
    found <- predict(m, others, type = type, se.fit = TRUE)
    expected <- predict(b, others, type = type, se.fit = TRUE)
    near(paste(what, type), found$fit, expected$fit, 1e-6)
    same(paste(what, type, "errors"), (found$se.fit + 1e-12) / (expected$se.fit + 1e-12), 0 * expected$se.fit + 1, 1e-4)
  }
  near(paste(what, "linear.predictors"), m$linear.predictors, b$linear.predictors, 1e-6)
  near(paste(what, "fitted"), fitted(m), fitted(b), 1e-6)
  for (type in eval(formals(b$family$residuals)$type)) {
    near(paste(what, type, "residuals"), residuals(m, type), residuals(b, type), 1e-6)
  }
  X <- list(model.matrix(m), model.matrix(b))
  for (slot in c("lpi", "model.offset")) {
    holds(paste(what, slot), isTRUE(all.equal(attr(X[[1]], slot), attr(X[[2]], slot))))
  }
  holds(paste(what, "names"), identical(names(coef(m)), names(coef(b))))
  holds(paste(what, "columns"), identical(colnames(X[[1]]), colnames(X[[2]])))
  parametric <- unlist(Map(function(first, size) seq_len(size) + first - 1, attr(b$nsdf, "pstart"), b$nsdf))
  same(paste(what, "vcov"), vcov(m)[parametric, parametric], vcov(b)[parametric, parametric], 1e-4)
  same(paste(what, "edf"), sum(m$edf), sum(b$edf), 1e-4)
  # As of bam, var.summary is of the rows of the fit, and of a matrix each column's.
  of_gam <- is.null(m$call$subset) && !any(vapply(m$model, is.matrix, NA))
  for (slot in c("nsdf", "assign", "xlevels", "contrasts", "min.edf", "pterms", "pred.formula", "formula", "terms",
                 if (of_gam) "var.summary", "offset", "y", "df.residual", "sig2", "scale.estimated", "na.action")) {
    slots <- lapply(list(m[[slot]], b[[slot]]), function(x) if (is.list(x)) Filter(length, x) else x)
    difference <- all.equal(slots[[1]], slots[[2]])
    holds(paste(what, slot, toString(difference)), isTRUE(difference))
  }
  same(paste(what, "deviance"), m$deviance, b$deviance, 1e-6)
  if (!is.null(b$null.deviance)) same(paste(what, "null deviance"), m$null.deviance, b$null.deviance, 1e-6)
  for (i in seq_along(b$smooth)) same_smooth(what, m$smooth[[i]], b$smooth[[i]])
  for (table in c("p.table", "s.table", "pTerms.table")) {
    same(paste(what, table), cbind(0, summary(m)[[table]]), cbind(0, summary(b)[[table]]), 1e-3)
  }
  # mgcv's multinom has a log likelihood that is larger by 1 for each row of class 0.
  m$edf2 <- NULL  # gam has none at given smoothing parameters
  excess <- if (m$family$family == "multinom") sum(b$y == 0) else 0
  same(paste(what, "logLik"), logLik(m) + excess, logLik(b), 1e-6)
  same(paste(what, "AIC"), AIC(m) - 2 * excess, AIC(b), 1e-6)
  same(paste(what, "BIC"), BIC(m) - 2 * excess, BIC(b), 1e-6)
  for (f in list(print, function(m) print(summary(m)), function(m) print(anova(m)))) {
    lines <- lapply(list(m, b), function(m) length(utils::capture.output(f(m))))
    holds(paste(what, "printed lines"), identical(lines[[1]], lines[[2]]))
  }
}

for (name in names(models)) {
  one <- models[[name]]
  problem <- tryCatch({
    m <- fit_by(quote(tessera_bam), one, quiet = TRUE)
    b <- gam_of(one, m)
    same_as_gam(name, m, b)
    file <- tempfile(fileext = ".json")
    options <- c(engine$family_options(engine$family_of(one$family)),
                 if (isTRUE(one$arguments$select)) c(select = "true"),
                 if (!is.null(one$arguments$subset)) c(subset = deparse1(one$arguments$subset)))
    pointer <- .Call(engine$C_fit, deparse1(one$formula), .Call(engine$C_table, d), options, NULL)
    .Call(engine$C_save, pointer, file)
    fit <- list(pointer = pointer, file = file)
    with <- read_tessera(file, data = d)
    without <- read_tessera(file)
    alike <- setdiff(names(m), c("call", "control", "family"))
    differing <- alike[!mapply(function(x, y) isTRUE(all.equal(x, y)), m[alike], with[alike])]
    holds(paste(name, "as of the file:", toString(differing)), !length(differing))
    for (object in list(with, without)) {
      same_predictions(name, object, fit, others)
      same_summary(name, object, fit)
    }
    same_without_rows(name, with, without)
    same_pictures(name, with, without)
    NULL
  }, error = function(e) paste(name, conditionMessage(e), deparse1(conditionCall(e))))
  faults <- c(faults, problem)
}
# The call: the same by other forms of data and family, and what update() changes
formulas <- list(y ~ s(x) + fac, ~ s(z) + x)
m <- tessera_bam(formulas, d, gaulss(), quiet = TRUE)
table <- tempfile(fileext = ".csv")
write.csv(d, table, row.names = FALSE)
for (other in list(tessera_bam(formulas, table, "gaulss(b = 0.01)", quiet = TRUE, options = list(levels = "fac=b,a,c")),
                   tessera_bam(formulas, as.list(d), gaulss, quiet = TRUE, model = FALSE),
                   update(m, family = "gaulss"), update(m, nthreads = 2))) {
  same("another form", coef(other), coef(m), 1e-10)
}
missing <- transform(d, y = replace(y, 3, NA), z = replace(z, 7, NA))
of_missing <- tessera_bam(formulas, missing, gaulss(), na.action = na.exclude, quiet = TRUE)
holds("missing rows", all(which(is.na(residuals(of_missing))) == c(3, 7)) && all(dim(fitted(of_missing)) == c(n, 2)))
same("without these rows", coef(of_missing), coef(tessera_bam(formulas, d[-c(3, 7), ], gaulss(), quiet = TRUE)), 1e-10)

# A coefficient that others determine is 0, and has the name that R gives it.
dependent <- tessera_bam(list(y ~ s(x) + fac, ~ s(z) + x + I(2 * x)), d, gaulss(), quiet = TRUE)
holds("a dependent coefficient", coef(dependent)[["I(2 * x).1"]] == 0)
near("beside a dependent coefficient", predict(dependent, others), predict(m, others), 1e-10)

# Weights, which mgcv ignores, multiply the log likelihood: two are two rows. An offset of the call is of the first
# predictor.
twice <- rep(1:2, length.out = n)
linear <- list(y ~ x + fac, ~ z)
weighted <- tessera_bam(linear, d, gaulss(), weights = twice, quiet = TRUE)
repeated <- tessera_bam(linear, d[rep(seq_len(n), twice), ], gaulss(), quiet = TRUE)
near("weights", predict(weighted, others), predict(repeated, others), 1e-6)
same("weights", weighted$deviance, repeated$deviance, 1e-6)
of_call <- tessera_bam(formulas, d, gaulss(), offset = o, sp = m$sp, quiet = TRUE)
of_formula <- tessera_bam(list(y ~ s(x) + fac + offset(o), ~ s(z) + x), d, gaulss(), sp = m$sp, quiet = TRUE)
for (slot in c("linear.predictors", "fitted.values", "residuals", "offset")) {
  same(paste("offset:", slot), unlist(of_call[[slot]]), unlist(of_formula[[slot]]), 1e-10)
}
near("offset in predictions", predict(of_call, others), predict(of_formula, others) - cbind(others$o, 0), 1e-8)

# Classes by the levels of a factor or text, and what R evaluates of the formulas
of_class <- tessera_bam(list(class ~ s(x) + fac, ~ s(z)), d, multinom(K = 2), quiet = TRUE)
for (type in c("factor", "text")) {
  of_level <- tessera_bam(list(level ~ s(x) + fac, ~ s(z)), multinom(K = 2), quiet = TRUE,
                          data = if (type == "text") transform(d, level = as.character(level)) else d)
  alike <- c("coefficients", "Vp", "y", "fitted.values", "residuals", "deviance")
  holds(paste("classes by", type), isTRUE(all.equal(of_level[alike], of_class[alike], tolerance = 1e-12)))
}
plain <- d
contrasts(d$fac) <- "contr.helmert"
d$M <- cbind(p = d$v^2, q = d$w)
others <- d[1:40, ]
of_contrasts <- tessera_bam(list(y ~ s(x) + fac, ~ s(z) + fac * v + M), d, gaulss(), quiet = TRUE)
same_as_gam("contrasts", of_contrasts, gam_of(model(formula(of_contrasts), gaulss), of_contrasts))
d <- plain

# A stored sample with all rows, and an object in an R process with mgcv alone
without <- tessera_bam(formulas, d, gaulss(), model = FALSE, options = list(sample = 2000), quiet = TRUE)
holds("an object without rows is small", length(serialize(without, NULL)) < 2^20)
with <- tessera_bam(formulas, d, gaulss(), quiet = TRUE)
for (slot in c("y", "prior.weights", "linear.predictors", "fitted.values", "residuals")) {
  same(paste("sample:", slot), as.matrix(sample_rows(without)[[slot]]), as.matrix(with[[slot]]), 1e-10)
}
holds("plot with a sample", is.list(quietly(plot(without, residuals = TRUE, rug = TRUE))))
folder <- tempfile()
dir.create(folder)
answers_of <- quote(list(predict(with, others, se.fit = TRUE), predict(with, others, type = "response"),
                         predict(without, others), summary(with)[c("s.table", "p.table", "n")], vcov(without),
                         residuals(with), fitted(with), BIC(without), anova(with)$s.table, dim(model.matrix(with))))
saveRDS(mget(c("with", "without", "others", "answers_of")), file.path(folder, "objects.rds"))
writeLines(c("suppressMessages(library(mgcv))", "folder <- commandArgs(TRUE)",
             "invisible(list2env(readRDS(file.path(folder, \"objects.rds\")), globalenv()))",
             "saveRDS(eval(answers_of), file.path(folder, \"answers.rds\"))",
             "stopifnot(!\"tessera\" %in% loadedNamespaces())"), file.path(folder, "alone.R"))
script <- shQuote(file.path(folder, "alone.R"))
system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", script, shQuote(folder)))
found <- tryCatch(readRDS(file.path(folder, "answers.rds")), error = conditionMessage)
holds("the same bits in a process with mgcv alone", identical(found, eval(answers_of)))

# Refused inputs, and functions that have no answer
refused <- function(text, expression) {
  message <- tryCatch({ expression; "an object" }, tessera_error = conditionMessage, error = function(e) "another")
  holds(paste0("refused by '", text, "': ", message), grepl(text, message, fixed = TRUE) && !grepl("\n", message))
}
refused("formula x ~ s(z): the second and later ones of a list have no response",
        tessera_bam(list(y ~ s(x), x ~ s(z)), d, gaulss()))
refused("for several linear predictors a list", tessera_bam(list(~ s(x), ~ s(z)), d, gaulss()))
refused("for several linear predictors a list", tessera_bam(list(y ~ s(x), "~ s(z)"), d, gaulss()))
refused("has 2 linear predictors, but there is 1 formula", tessera_bam(y ~ s(x), d, gaulss()))
refused("has 2 linear predictors, but there are 3 formulas", tessera_bam(list(y ~ s(x), ~ 1, ~ 1), d, gaulss()))
refused("has 1 linear predictor, but there are 2 formulas", tessera_bam(list(y ~ s(x), ~ 1), d, gaussian()))
refused("phiPen is 0.001", tessera_bam(list(y ~ s(x), ~ 1, ~ 1, ~ 1), d, shash(phiPen = 1)))
refused("one offset() of a formula", tessera_bam(list(y ~ s(x), ~ offset(o) + offset(w)), d, gaulss()))
refused("object '.' not found", tessera_bam(list(y ~ s(x), ~ .), d, gaulss()))
refused("rho cannot be used with the family", tessera_bam(formulas, d, gaulss(), rho = 0.3))
for (f in list(influence, cooks.distance, rstandard)) refused("is not defined for the family gaulss", f(with))
refused("data = ", fitted(without))
refused("data = ", residuals(without))

writeLines(faults)
if (length(faults)) quit(status = 1)
