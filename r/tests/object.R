# SPDX-License-Identifier: Apache-2.0
# Model objects for every kind of term and family, with and without data: results of mgcv's functions are compared with
# the engine's own output and with bam's fits: of a third of the models, others each week. `Rscript object.R all` takes all, and
# compares each with bam.
library(tessera)
suppressMessages(library(mgcv))
arguments <- commandArgs(TRUE)
script <- sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE), fixed = TRUE)
source(file.path(if (length(script)) dirname(script) else ".", "support", "objects.R"))

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
  eta <- (d$f - mean(d$f)) / 6 + rnorm(8, 0, 0.4)[d$g] + 0.3 * as.integer(d$fac) * sin(5 * d$x2) +
    0.3 * cos(d$h * pi / 12)
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
  ad = model(y ~ s(x2, bs = "ad", k = 15, m = 3) + s(h, bs = "ad", k = 12, m = 2, xt = list(bs = "cc"))),
  mrf = model(y ~ s(g, bs = "mrf", xt = list(nb = list(
    s1 = "s2", s2 = c("s1", "s3"), s3 = c("s2", "s4"), s4 = c("s3", "s5"), s5 = "s4", s6 = "s7", s7 = c("s6", "s8"), s8 = "s7"))) + s(x2)),
  mrfk = model(yp ~ s(x2) + s(g, bs = "mrf", k = 4, xt = list(nb = list(
    s1 = 2, s2 = c(1, 3), s3 = c(2, 4), s4 = c(3, 5), s5 = c(4, 6), s6 = c(5, 7), s7 = c(6, 8), s8 = 7))), "poisson"),
  mrfte = model(y ~ te(g, x2, bs = c("mrf", "cr"), k = c(8, 4), xt = list(list(nb = list(
    s1 = 2, s2 = c(1, 3), s3 = c(2, 4), s4 = c(3, 5), s5 = c(4, 6), s6 = c(5, 7), s7 = c(6, 8), s8 = 7)), NULL))),
  tp = model(y ~ s(x2) + s(x3, m = 3) + s(x1, m = 1)),
  ts = model(y ~ s(x2, bs = "ts") + s(x3)),
  tp2 = model(y ~ s(x0, x1, k = 25)),
  tp3 = model(y ~ s(x0, x1, x2, k = 20)),
  m3 = model(y ~ s(x0, x1, k = 20, m = 3)),
  ds = model(y ~ s(x0, x1, bs = "ds", k = 20) + s(x2, x3, bs = "ds", k = 15, m = c(1, 0.5))),
  gp = model(y ~ s(x2, bs = "gp", k = 10) + s(x0, x1, bs = "gp", k = 12, m = c(2, 0.4)) +
               s(x3, bs = "gp", m = c(-1, 0.5))),
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
  rho = model(y ~ s(x2) + s(x1), options = c(rho = "0.3", "ar-start" = "start"),
              bam = list(rho = 0.3, AR.start = quote(start))),
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
  betar = model(yu ~ s(x2) + fac, "betar"),
  elf = model(y ~ s(x2) + fac, "elf(qu=0.8, lsig=-0.3, co=0.4)", options = c(weights = "w")))
models <- chosen(models)

#' The engine's model: its pointer and its file.
fit_of <- function(one) {
  table <- .Call(engine$C_table, d)
  options <- c(family = one$family, one$options)
  pointer <- .Call(engine$C_fit, paste(deparse(one$formula, 500), collapse = " "), table, options, NULL)
  file <- tempfile(fileext = ".json")
  .Call(engine$C_save, pointer, file)
  list(pointer = pointer, file = file)
}
bam_of <- function(one) {
  call <- if (one$nested) quote(gam(one$formula, method = "REML", control = gam.control(epsilon = 1e-11)))
          else quote(bam(one$formula, chunk.size = 1e5, control = gam.control(epsilon = 1e-11, maxit = 300)))
  call[[2]] <- one$formula
  call$data <- quote(d)
  call$family <- if (grepl("(", one$family, fixed = TRUE)) str2lang(one$family) else as.symbol(one$family)
  call[names(one$bam)] <- one$bam
  eval(call)
}

# With `all` each model is compared with bam's, except those known to differ. Without smooths, bam's object has another
# form. A smooth by = a number, together with that number, has one function more in bam. Factor smooths have another
# optimum, because mgcv leaves a choice to rounding.
of_bam <- c("ps", "tp", "te", "ti", "t2", "by", "re", "sz", "parametric", "coded", "side", "select", "id", "sp",
            "weights", "rho", "offset", "answer", "counts", "Gamma", "nb")
if (length(arguments)) of_bam <- setdiff(names(models), c("linear", "number", "fs", "fs2"))
# Slots not compared: bam's null deviance omits the offset; gam.vcomp fails for smooths without a penalty; bam's
# var.summary includes rows outside the subset.
unlike <- list(offset = "null.deviance", given = "null.deviance",
               fixed = "gam.vcomp", subset = "var.summary")

for (name in names(models)) {
  one <- models[[name]]
  objects <- tryCatch({
    fit <- fit_of(one)
    list(with = read_tessera(fit$file, data = d), without = read_tessera(fit$file))
  }, error = function(e) conditionMessage(e))
  if (is.character(objects)) {
    faults <- c(faults, paste0(name, ": ", objects))
    next
  }
  for (object in objects) {
    what <- if (identical(object, objects$with)) name else paste(name, "without data")
    same_predictions(what, object, fit, others)
    same_summary(what, object, fit)
  }
  same_without_rows(name, objects$with, objects$without)
  same_rows(name, objects$with, fit, d)
  same_pictures(name, objects$with, objects$without)
  if (name %in% of_bam) {
    tryCatch(same_as_bam(name, objects$with, suppressWarnings(bam_of(one)), unlike[[name]]),
             error = function(e) faults <<- c(faults, paste(name, "beside bam:", conditionMessage(e))))
  }
}
writeLines(faults)
if (length(faults)) quit(status = 1)
