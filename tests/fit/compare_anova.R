# SPDX-License-Identifier: Apache-2.0
# Compares tessera-fit anova and summary --json with anova.gam, logLik.gam, AIC and summary.gam of mgcv's bam:
#   Rscript tests/fit/compare_anova.R build/default/bin/tessera-fit [third | MODEL...]
# Each pair is two models of one response. Degrees of freedom and AIC are compared with bam(), whose smoothing
# parameters stop near the optimum; tests and tables with mgcv's functions at the same coefficients and edf.
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE), fixed = TRUE)), "comparison.R"))

set.seed(44)
n <- 700
d <- data.frame(x = runif(n), z = rnorm(n), w = rexp(n), u = runif(n, 0, 10), e = runif(n, 1, 3), pw = rexp(n) + .2)
d$f <- factor(sample(c("a", "b", "c"), n, TRUE)); d$g <- factor(sample(sprintf("g%02d", 1:12), n, TRUE))
d$h <- factor(sample(c("lo", "hi"), n, TRUE))
eta <- sin(6 * d$x) + .3 * d$z + .1 * as.numeric(d$f) + rnorm(12)[d$g] * .3
d$y <- eta + rnorm(n) * .6
d$cnt <- rpois(n, exp(.5 + eta / 2)); d$bin <- rbinom(n, 1, plogis(eta)); d$pos <- rgamma(n, 3, 3 / exp(eta / 2))
d$prop <- pmin(pmax(rbeta(n, 4 * plogis(eta), 4 * plogis(-eta)), 1e-4), 1 - 1e-4)
d$tw <- rTweedie(exp(eta / 2), p = 1.5, phi = 1); d$nb <- rnbinom(n, size = 2, mu = exp(.5 + eta / 2))
d$t5 <- eta + rt(n, 5) * .3
write.csv(d, "d.csv", row.names = FALSE)

pairs <- list(
  ps = list(y ~ f + s(x, bs = "ps"), y ~ f + z + s(x, bs = "ps")), tp = list(y ~ s(x), y ~ s(x) + s(z) + f),
  cr = list(y ~ f * h + s(x, bs = "cr"), y ~ f * h + s(x, bs = "cr") + s(w, bs = "cr")),
  te = list(y ~ s(x) + s(z), y ~ te(x, z, k = 5)), by = list(y ~ f + s(x), y ~ f + s(x, by = f)),
  re = list(y ~ s(x), y ~ s(x) + s(g, bs = "re")), fs = list(y ~ s(x), y ~ s(z) + s(x, g, bs = "fs", k = 5)),
  poly = list(y ~ poly(z, 2) + s(x), y ~ poly(z, 3) + f + s(x)), cc = list(y ~ s(u, bs = "cc"), y ~ s(u, bs = "cc") + s(x)),
  weights = list(y ~ s(x), y ~ s(x) + f), select = list(y ~ s(x) + f, y ~ s(x) + s(z) + s(w) + f), gamma = list(y ~ s(x) + f, y ~ s(x) + s(z) + f))
families <- list(poisson = list(cnt ~ s(x) + offset(log(e)), cnt ~ s(x) + f + s(z) + offset(log(e))), binomial = list(bin ~ s(x), bin ~ s(x) + z + f),
  Gamma = list(pos ~ s(x), pos ~ s(x) + f), quasipoisson = list(cnt ~ s(x), cnt ~ s(x) + f),
  nb = list(nb ~ s(x), nb ~ s(x) + f), tw = list(tw ~ s(x), tw ~ s(x) + f), scat = list(t5 ~ s(x), t5 ~ s(x) + f), betar = list(prop ~ s(x), prop ~ s(x) + f))
family_of <- list(poisson = poisson(), binomial = binomial(), Gamma = Gamma(log), quasipoisson = quasipoisson(), nb = nb(), tw = tw(), scat = scat(), betar = betar())
arguments <- list(weights = c("--weights", "pw"), select = "--select", gamma = c("--gamma", "1.4"))

# The tolerances for fits, and for functions of the same numbers.
apart <- 0; worst <- 0
compare <- function(name, formulas, family, spelled) {
  theirs <- lapply(formulas, function(formula) suppressWarnings(bam(formula, data = d, family = family, chunk.size = 1e6, select = name == "select",
    gamma = if (name == "gamma") 1.4 else 1, weights = if (name == "weights") d$pw, control = list(epsilon = 1e-11, maxit = 400))))
  for (i in seq_along(formulas)) run("fit", "d.csv", "--formula", paste(deparse(formulas[[i]], width.cutoff = 500), collapse = ""), "--family", spelled,
    "--device", "cpu", "--out", paste0(i, ".json"), arguments[[name]])
  fits <- numeric(); same <- numeric()
  distance <- function(ours, right, size = abs(right)) {
    ours <- unname(vapply(ours, function(one) if (is.null(one)) NA_real_ else as.numeric(one), 0)); right <- as.numeric(right)
    if (!identical(is.na(ours), is.na(right))) stop("NA elsewhere: ", toString(ours), " in place of ", toString(right))
    max(abs(ours - right) / pmax(size, 1e-300), 0, na.rm = TRUE)
  }
  json <- function(...) { run("anova", "1.json", "2.json", "--json", ...); fromJSON("log", simplifyVector = FALSE) }
  found <- json()
  for (i in seq_along(formulas)) {
    m <- theirs[[i]]; ours <- found$models[[i]]
    # bam() counts a scale parameter for families without one.
    if (name %in% c("nb", "scat", "betar")) m$scale.estimated <- FALSE
    fits["edf1"] <- max(fits["edf1"], distance(ours["edf1"], sum(m$edf1)), na.rm = TRUE)
    fits["edf2"] <- max(fits["edf2"], distance(ours["edf2"], sum(m$edf2)), na.rm = TRUE)
    fits["AIC"] <- max(fits["AIC"], distance(ours["AIC"], AIC(m)), na.rm = TRUE)
    fit <- fromJSON(paste0(i, ".json"), simplifyVector = FALSE)
    own <- seq_len(m$nsdf)
    m$coefficients[own] <- vapply(fit$coefficients[own], function(one) one$value, 0)
    m$Vp[own, own] <- vapply(fit$covariance$columns[own], function(one) unlist(one[own]), numeric(m$nsdf))
    for (field in c("edf", "edf1", "edf2")) m[[field]][] <- m[[field]] * ours[[field]] / sum(m[[field]])
    m$sig2 <- fit$scale; m$deviance <- fit$deviance; m$aic <- if (is.null(fit$aic)) NA else fit$aic
    # bam() leaves the offset out of the null model, gam() does not.
    if (any(m$offset != 0)) m$null.deviance <- glm(m$y ~ 1, family = m$family, offset = m$offset)$deviance
    theirs[[i]] <- m
    same["logLik"] <- max(same["logLik"], distance(ours[c("log_likelihood", "log_likelihood_df")], c(logLik(m), attr(logLik(m), "df"))), na.rm = TRUE)
    right <- summary(m); run("summary", paste0(i, ".json"), "--json"); own <- fromJSON("log", simplifyVector = FALSE)
    rows <- function(list, ...) t(vapply(list, function(one) vapply(one[c(...)], function(x) if (is.null(x)) NA_real_ else as.numeric(x), 0), numeric(length(c(...)))))
    table <- rows(own$coefficients, "estimate", "standard_error", "statistic", "p_value")
    if (!identical(rownames(right$p.table), vapply(own$coefficients, function(one) one$name, "")) || !identical(rownames(right$s.table), vapply(own$smooths, function(one) one$term, "")))
      stop("other rows of the summary")
    same["p.table"] <- max(same["p.table"], distance(table[, 1:3], right$p.table[, 1:3]), distance(table[, 4], right$p.table[, 4], 1), distance(own["scale"], right$scale), na.rm = TRUE)
    table <- rows(own$smooths, "edf", "df", "statistic", "p_value")
    # The statistic of a fractional rank depends on the signs of eigenvectors; the p-value does not.
    fits["s.table"] <- max(fits["s.table"], distance(table[, 1:2], right$s.table[, 1:2], sum(m$edf)), distance(table[, 4], right$s.table[, 4], 1), na.rm = TRUE)
    fits["r.sq"] <- max(fits["r.sq"], distance(own[c("r_squared_adjusted", "deviance_explained")], c(right$r.sq, right$dev.expl), 1), na.rm = TRUE)
    if (own$n != right$n || own$coefficient_statistic != substr(colnames(right$p.table)[3], 1, 1) || own$statistic != colnames(right$s.table)[3]) stop("other n or tests")
    p <- right$pTerms.table
    if (is.null(p) != (length(ours$parametric) == 0)) stop("other terms")
    if (is.null(p)) next
    if (!identical(rownames(p), vapply(ours$parametric, function(one) one$term, ""))) stop("terms: ", toString(rownames(p)))
    of <- function(field) lapply(ours$parametric, function(one) one[[field]])
    same["terms"] <- max(same["terms"], distance(of("df"), p[, 1]), distance(of("statistic"), p[, 2]), distance(of("p_value"), p[, 3], 1), na.rm = TRUE)
  }
  for (test in c("F", "Chisq")) {
    right <- suppressWarnings(anova(theirs[[1]], theirs[[2]], test = test)); rows <- json("--test", test)$deviances
    of <- function(field) lapply(rows, function(one) one[[field]])
    # A difference of two models has the rounding errors of both.
    same["table"] <- max(same["table"], distance(of("residual_df"), right[, 1]), distance(of("residual_deviance"), right[, 2]), distance(of("df"), right[, 3], n),
      distance(of("deviance"), right[, 4], max(abs(right[, 2]))), if ("F" %in% names(right)) distance(of("F"), right$F), distance(of("p_value"), right[, ncol(right)], 1), na.rm = TRUE)
  }
  cat(sprintf("%-12s", name), sprintf("%s %.0e", c(names(fits), names(same)), c(fits, same)), "\n")
  apart <<- max(apart, fits); worst <<- max(worst, same)
}
report <- function(name, ...) {
  if (!is_taken(name)) return(invisible())
  found <- try(compare(name, ...), silent = TRUE)
  if (inherits(found, "try-error")) { cat(sprintf("%-12s %s", name, found)); worst <<- Inf }
}
for (name in names(pairs)) report(name, pairs[[name]], gaussian(), "gaussian")
for (name in names(families)) report(name, families[[name]], family_of[[name]], if (name == "Gamma") "Gamma(log)" else name)
cat(sprintf("functions of the same numbers: %.0e; fits: %.0e\n", worst, apart))
quit(status = if (worst <= 1e-8 && apart <= 2e-3) 0 else 1)
