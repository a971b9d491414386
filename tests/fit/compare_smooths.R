# SPDX-License-Identifier: Apache-2.0
# Compares slice, smooths, derivatives and contrasts with mgcv's PredictMat and predict.gam, at equal coefficients:
#   Rscript tests/fit/compare_smooths.R build/default/bin/tessera-fit [third | MODEL...]
# For each model tessera-fit's coefficients and covariance are put into the object of gam(), as in compare_predictions.R.
# Estimates and standard errors agree to 1e-8 of their range, derivatives to 1e-5 with central differences, and simultaneous
# bands within the Monte Carlo error of 10,000 draws.
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE), fixed = TRUE)), "comparison.R"))

set.seed(31)
n <- 601
d <- data.frame(x = runif(n), z = rnorm(n), w = rexp(n) + .1, u = runif(n, 0, 10), e = runif(n, 1, 3))
d$f <- factor(sample(c("a", "b", "c"), n, TRUE, c(.3, .3, .4))); d$g <- factor(sample(sprintf("g%02d", 1:8), n, TRUE))
d$dose <- sample(c("d1", "d2", "d3"), n, TRUE); d$h <- factor(sample(c("lo", "hi"), n, TRUE))
d$y <- sin(6 * d$x) + .3 * d$z + .2 * as.numeric(d$f) * d$x + rnorm(8)[d$g] * .3 + rnorm(n) * .4
d$cnt <- rpois(n, exp(.5 + sin(6 * d$x) / 2))
write.csv(d, "d.csv", row.names = FALSE)
d <- read.csv("d.csv", stringsAsFactors = TRUE); d$o <- factor(d$dose, ordered = TRUE)

models <- list(
  tp = y ~ s(x) + s(z, bs = "ts") + f, cr = y ~ s(x, bs = "cr") + s(z, bs = "cs"), ps = y ~ s(x, bs = "ps", k = 12) + s(z, bs = "bs"),
  cc = y ~ s(u, bs = "cc") + s(x, bs = "cp"), te = y ~ te(x, z, k = 5) + s(w), ti = y ~ ti(x) + ti(z) + ti(x, z, k = 5),
  t2 = y ~ t2(x, z, k = 4) + f, tp2 = y ~ s(x, z, k = 20), gp = y ~ s(x, bs = "gp") + s(u, w, bs = "ds", m = c(1, .5), k = 15),
  fs = y ~ s(z) + s(x, g, bs = "fs", k = 5), fsb = y ~ s(x, g, bs = "fs", k = 5, xt = "cr"), sz = y ~ s(x) + s(f, x, bs = "sz", k = 6),
  re = y ~ s(x) + s(g, bs = "re") + s(g, z, bs = "re"), rei = y ~ s(g, f, bs = "re"), by = y ~ f + s(x, by = f), byn = y ~ s(x, by = z),
  byo = y ~ o + s(x) + s(x, by = o), teby = y ~ f + te(x, z, by = f, k = 4), expr = y ~ s(log(w)) + f + offset(log(e)) + poly(z, 2),
  tere = y ~ s(z) + te(x, g, bs = c("cr", "re"), k = c(5, 8)), te3 = y ~ te(x, z, u, d = c(2, 1), k = c(8, 3), bs = c("tp", "cr")))
families <- list(pois = list(cnt ~ s(x) + f, poisson()))

# The row's variables in the form of the model.
as_fitted <- function(rows) {
  rows <- typed(rows, d)
  if ("ordered(dose)" %in% names(rows)) rows$o <- factor(as.character(rows[["ordered(dose)"]]), levels = levels(d$o), ordered = TRUE)
  rows
}
own <- function(label) gsub(":o(d[0-9])", ":ordered(dose)\\1", label)
fitted_at_ours <- function(formula, family, spelled) {
  text <- gsub("\\bo\\b", "ordered(dose)", paste(deparse(formula, width.cutoff = 500), collapse = ""))
  run("fit", "d.csv", "--formula", text, "--family", spelled, "--out", "m.json", "--device", "cpu")
  m <- suppressWarnings(gam(formula, data = d, family = family, method = "REML"))
  back <- back_of(m, as.matrix(answer("predict", "m.json", "d.csv", "--type", "lpmatrix")), predict(m, d, type = "lpmatrix"))
  with_our_coefficients(m, fromJSON("m.json", simplifyVector = FALSE), back)
}
critical <- function(m, X, se) {
  own <- which(colSums(abs(X)) > 0); eigen <- eigen(m$Vp[own, own, drop = FALSE]); z <- matrix(rnorm(1e4 * length(own)), length(own))
  deviations <- X[se > 0, own, drop = FALSE] %*% (eigen$vectors %*% (sqrt(pmax(0, eigen$values)) * z)) / se[se > 0]
  largest <- apply(abs(deviations), 2, max); found <- quantile(largest, .95, type = 8); density <- density(largest)
  c(found, sqrt(2 * .95 * .05 / 1e4) / approx(density$x, density$y, found)$y)
}
compare <- function(name, formula, family = gaussian(), spelled = "gaussian") {
  m <- fitted_at_ours(formula, family, spelled); mc <- 0
  out <- smooths_apart(m, answer("smooths", "m.json", "--points", "12"), as_fitted, own, function(label, rows, X, theirs) {
    smooth <- smooth_named(m, label, own)
    for (v in intersect(smooth$term, names(d))) if (is.numeric(d[[v]]) && !inherits(smooth, "random.effect") && !identical(range(rows[[v]]), range(d[[v]]))) stop("smooths: range of ", v)
    here <- critical(m, X, theirs$se); ours <- max((rows[["upper.simultaneous"]] - rows$fit) / rows$se, na.rm = TRUE)
    mc <<- max(mc, abs(ours - here[1]) / here[2])
  })
  # derivatives
  if (any(sapply(m$smooth, function(s) !inherits(s, "random.effect")))) for (order in 1:2) {
    a <- answer("derivatives", "m.json", "--points", "7", "--draws", "0", "--order", order)
    for (part in split(a, paste(a$smooth, a$derivative))) {
      rows <- as_fitted(part); v <- as.character(rows$derivative[1]); smooth <- smooth_named(m, as.character(rows$smooth[1]), own)
      # Beyond the ends splines are linear.
      inside <- rows[[v]] > min(rows[[v]]) & rows[[v]] < max(rows[[v]]); rows <- rows[inside, ]
      h <- c(1e-5, 2e-4)[order] * diff(range(part[[v]]))
      at <- function(by) { moved <- rows; moved[[v]] <- moved[[v]] + by; columns_of(m, smooth, moved) }
      X <- if (order == 1) (at(h) - at(-h)) / (2 * h) else (at(h) + at(-h) - 2 * at(0)) / h^2
      theirs <- estimate(m, X); what <- paste0("d", order)
      out[what] <- max(out[what], of_estimate(rows$fit, theirs$fit, theirs$se) / c(1e3, 1e6)[order], of_estimate(rows$se, theirs$se) / c(1e3, 1e6)[order], na.rm = TRUE)
    }
  }
  # contrasts of levels
  of_levels <- function(s) any(s$by.level %in% c(levels(d$f), levels(d$o))) || inherits(s, c("fs.interaction", "sz.interaction")) ||
    (inherits(s, "tensor.smooth") && "g" %in% s$term)
  if (any(vapply(m$smooth, of_levels, NA))) {
    a <- answer("contrasts", "m.json", "--points", "5", "--draws", "0")
    for (part in split(a, paste(a$smooth, a$level, a$less))) {
      rows <- as_fitted(part); label <- as.character(rows$smooth[1]); levels <- c(as.character(rows$level[1]), as.character(rows$less[1]))
      X <- lapply(levels, function(l) {
        smooth <- smooth_named(m, label, own); at <- rows
        if (is.null(smooth)) smooth <- smooth_named(m, paste0(label, l), own)
        if (is.null(smooth)) return(0)
        factor <- if (smooth$by != "NA") smooth$by else Find(function(v) is.factor(d[[v]]), smooth$term)
        at[[factor]] <- factor(l, levels = levels(d[[factor]]), ordered = is.ordered(d[[factor]]))
        columns_of(m, smooth, at)
      })
      theirs <- estimate(m, X[[1]] - X[[2]])
      out["contrasts"] <- max(out["contrasts"], of_estimate(rows$fit, theirs$fit, theirs$se), of_estimate(rows$se, theirs$se), na.rm = TRUE)
    }
  }
  # slice, and the difference of two tables
  numbers <- Filter(function(v) is.numeric(d[[v]]), all.vars(formula)[-1])
  varied <- if (length(numbers)) setNames(list(quantile(d[[numbers[1]]], c(.1, .5, .9), names = FALSE)), numbers[1]) else list(g = c("g01", "g03"))
  at <- paste0(names(varied), "=", paste(format(varied[[1]], digits = 17, trim = TRUE), collapse = ","))
  a <- answer("slice", "m.json", "--at", at, "--se")
  rows <- as.data.frame(lapply(m$var.summary, function(v) rep(if (is.factor(v)) v else v[2], length(varied[[1]]))))
  rows[[names(varied)]] <- if (is.factor(d[[names(varied)]])) factor(varied[[1]], levels = levels(d[[names(varied)]])) else varied[[1]]
  theirs <- predict(m, rows, se.fit = TRUE)
  out["slice"] <- max(of_estimate(a$fit, theirs$fit), of_estimate(a$se, theirs$se.fit))
  one <- d[1:20, ]; two <- d[21:40, ]; write.csv(one, "one.csv", row.names = FALSE); write.csv(two, "two.csv", row.names = FALSE)
  a <- answer("contrasts", "m.json", "one.csv", "two.csv")
  X <- predict(m, one, type = "lpmatrix") - predict(m, two, type = "lpmatrix"); theirs <- estimate(m, X)
  out["tables"] <- max(of_estimate(a$fit, predict(m, one) - predict(m, two)), of_estimate(a$se, theirs$se))
  c(out, mc = mc)
}
worst <- 0
report <- function(name, ...) {
  if (!is_taken(name)) return(invisible())
  found <- try(compare(name, ...), silent = TRUE)
  if (inherits(found, "try-error")) { cat(sprintf("%-5s %s", name, found)); worst <<- Inf; return(invisible()) }
  # Monte Carlo errors are in standard errors.
  worst <<- max(worst, found[names(found) != "mc"], if (found["mc"] > 5) Inf)
  cat(sprintf("%-5s", name), sprintf("%s %.0e", names(found), found), "\n")
}
for (name in names(models)) report(name, models[[name]])
for (name in names(families)) report(name, families[[name]][[1]], families[[name]][[2]], c(pois = "poisson")[[name]])
cat(if (worst <= 1e-8) "all agree\n" else sprintf("worst: %.1e\n", worst))
quit(status = if (worst <= 1e-8) 0 else 1)
