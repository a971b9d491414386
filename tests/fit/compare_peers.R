# SPDX-License-Identifier: Apache-2.0
# Compares models without smooths with those of other packages than mgcv: multinom with nnet::multinom, ocat with
# MASS::polr, and gaulss(b=0) with nlme::gls, whose spread is an exponential function of a number:
#   Rscript tests/fit/compare_peers.R build/default/bin/tessera-fit [third | MODEL...]
# Estimates are those of maximum likelihood.
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE), fixed = TRUE)), "comparison.R"))
if (!all(vapply(c("nnet", "MASS", "nlme"), requireNamespace, NA, quietly = TRUE))) {
  cat("R has no nnet, MASS or nlme: nothing is compared\n")
  quit(status = 77)
}

data_of <- function(seed, n) {
  set.seed(seed)
  d <- data.frame(x = rnorm(n), z = runif(n), f = sample(c("a", "b", "c"), n, TRUE), h = sample(c("lo", "hi"), n, TRUE))
  eta <- d$x - (d$f == "b") + d$z * (d$h == "lo")
  odds <- exp(cbind(0, eta / 2, .4 - d$z, -eta / 3))
  d$kind <- c("ant", "bee", "cicada", "dragonfly")[apply(odds, 1, function(p) sample(4, 1, prob = p))]
  d$grade <- 1 + colSums(outer(c(-1.5, 0, .8, 2), eta + rlogis(n), "<"))
  d$y <- 2 + eta + exp(.3 - 1.2 * d$z + .2 * d$x) * rnorm(n)
  d
}
model <- function(family, formulas, ...) {
  run("fit", "d.csv", c(rbind("--formula", formulas)), "--family", family, "--device", "cpu", "--out", "m.json", ...)
  json <- fromJSON("m.json", simplifyVector = FALSE)
  own <- function(field, name) setNames(sapply(json[[field]], `[[`, name), sapply(json[[field]], `[[`, "name"))
  V <- matrix(unlist(json$covariance$columns), length(json$coefficients))
  list(coef = own("coefficients", "value"), se = sqrt(diag(V)), thresholds = sapply(json$family_parameters, `[[`, "value"),
       log_likelihood = json$edf_total - json$aic / 2)
}
peers <- list(
  multinom = function(d, terms) {
    ours <- model("multinom(K=3)", paste(c("kind", "", ""), "~", terms), "--levels", "kind=ant,bee,cicada,dragonfly")
    theirs <- nnet::multinom(as.formula(paste("kind ~", terms)), d, trace = FALSE, maxit = 1e4, reltol = 1e-15, abstol = 1e-15)
    se <- sqrt(diag(vcov(theirs)))
    # BFGS stops early: a step of Newton's method from there.
    kinds <- model.matrix(~ kind - 1, d)
    score <- crossprod(model.matrix(theirs), kinds - fitted(theirs))[, -1]
    best <- as.vector(t(coef(theirs))) + drop(vcov(theirs) %*% as.vector(score))
    c(coef = distance(ours$coef, best, "coefficients", se), se = distance(ours$se, se, "errors"),
      likelihood = abs(ours$log_likelihood - as.numeric(logLik(theirs))))
  },
  ocat = function(d, terms) {
    ours <- model("ocat(R=5)", paste("grade ~", terms))
    theirs <- MASS::polr(as.formula(paste("factor(grade) ~", terms)), d, Hess = TRUE, control = list(reltol = 1e-15, maxit = 1e4))
    se <- sqrt(diag(vcov(theirs)))
    found <- c(ours$coef[-1], ours$thresholds - ours$coef[1])
    c(coef = distance(found, c(coef(theirs), theirs$zeta), "coefficients", se),
      likelihood = abs(ours$log_likelihood - as.numeric(logLik(theirs))))
  },
  gaulss = function(d, terms) {
    ours <- model("gaulss(b=0)", c(paste("y ~", terms), "~ z"))
    of_slope <- function(...) nlme::gls(as.formula(paste("y ~", terms)), d, weights = nlme::varExp(form = ~ z, ...), method = "ML")
    slope <- coef(of_slope()$modelStruct$varStruct, unconstrained = FALSE)
    # Its search stops early: two steps of Newton's method on its profile likelihood.
    by <- 1e-3 * tail(ours$se, 1)
    for (i in 1:2) {
      l <- sapply(slope + c(-by, 0, by), function(t) logLik(of_slope(fixed = t)))
      slope <- slope + by / 2 * (l[1] - l[3]) / (l[1] - 2 * l[2] + l[3])
    }
    theirs <- of_slope(fixed = slope)
    spread <- c(log(theirs$sigma), slope)
    c(coef = distance(ours$coef, c(coef(theirs), spread), "coefficients", ours$se),
      likelihood = abs(ours$log_likelihood - as.numeric(logLik(theirs))))
  })

worst <- c()
for (name in names(peers)) for (case in list(list(1, 300, "x"), list(2, 500, "x + f"), list(3, 1000, "x * h + z + f"), list(4, 2000, "poly(x, 2) + f:z"))) {
  if (!is_taken(name)) next
  d <- data_of(case[[1]], case[[2]])
  write.csv(d, "d.csv", row.names = FALSE)
  apart <- tryCatch(peers[[name]](d, case[[3]]), error = function(e) { cat(conditionMessage(e), ""); NA })
  cat(sprintf("%-9s %-17s %s\n", name, case[[3]], toString(sprintf("%s %.1e", names(apart), apart))))
  worst <- c(worst, apart)
}
# Coefficients are compared in standard errors, and errors relative to themselves.
cat(if (isTRUE(max(worst) < 1e-6)) "all" else "NOT all", "are as far apart as rounding\n")
quit(status = !isTRUE(max(worst) < 1e-6))
