# SPDX-License-Identifier: Apache-2.0
# Writes table.csv, new.csv and cases.json: predictions of every kind by predict.gam for bam(method = "fREML").
#
#   Rscript make_predictions.R        (made with R 4.2.2 and mgcv 1.8-41)
suppressMessages({library(mgcv); library(jsonlite)})

set.seed(30)
n <- 300
t <- data.frame(x = round(runif(n), 3), z = round(rnorm(n), 3), w = round(rexp(n), 3), e = round(runif(n, 1, 3), 2))
t$f <- sample(c("a", "b", "c"), n, TRUE)
t$g <- sample(c("p", "q", "r", "s", "t"), n, TRUE)
t$h <- sample(c("p", "q", "r", "s"), n, TRUE)
t$dose <- sample(c("d1", "d2", "d3"), n, TRUE)
eta <- with(t, sin(6 * x) + .3 * z + .4 * (f == "b") + c(p = -.5, q = 0, r = .3, s = -.2, t = .6)[g])
t$y <- round(eta + rnorm(n) * .4, 3)
t$count <- rpois(n, exp(.5 + eta / 2) * t$e)
write.csv(t, "table.csv", row.names = FALSE)
new <- t[seq(1, n, length.out = 12), setdiff(names(t), c("y", "count"))]
new$x[1] <- -.1
new$x[2] <- NA
new$g[3] <- "new"
new$h[4] <- "new"
write.csv(new, "new.csv", row.names = FALSE)
factors <- function(d) { for (name in c("f", "g", "h", "dose")) d[[name]] <- factor(d[[name]]); d$o <- factor(d$dose, ordered = TRUE); d }
t <- factors(t); new <- factors(new)

# predict.bam drops `unconditional`.
control <- gam.control(epsilon = 1e-12, maxit = 200)
case <- function(formula, written = deparse(formula, width.cutoff = 500), family = gaussian(), spelled = "gaussian", exclude) {
  m <- bam(formula, data = t, family = family, method = "fREML", control = control)
  written_name <- function(x) gsub("\\bo\\b", "ordered(dose)", x)
  predicted <- function(...) suppressWarnings(predict(m, new, se.fit = TRUE, ...))
  summed <- function(p) list(fit = as.numeric(p$fit), se = as.numeric(p$se.fit))
  parted <- function(p) list(names = written_name(colnames(p$fit)), fit = unname(as.list(as.data.frame(p$fit))), se = unname(as.list(as.data.frame(p$se.fit))))
  list(formula = written, family = spelled, exclude = exclude, constant = unname(coef(m)[1]), link = summed(predicted()), response = summed(predicted(type = "response")),
       unconditional = summed(suppressWarnings(predict.gam(m, new, se.fit = TRUE, unconditional = TRUE))), terms = parted(predicted(type = "terms")), iterms = parted(predicted(type = "iterms")),
       without = summed(predicted(exclude = exclude)), only = summed(predicted(terms = c("(Intercept)", exclude))))
}
cases <- list(
  case(y ~ f + poly(w, 2) + s(x) + s(g, bs = "re"), exclude = "s(g)"),
  case(y ~ o + s(x, bs = "cr") + s(z, k = 6), "y ~ ordered(dose) + s(x, bs = \"cr\") + s(z, k = 6)", exclude = "s(x)"),
  case(y ~ f * z + s(x, by = f, bs = "ps") + s(w), exclude = "s(w)"),
  case(y ~ s(x, by = z, bs = "cr") + te(x, w, k = 4) + f, exclude = "te(x,w)"),
  case(y ~ s(x, bs = "cr") + s(w, k = 5) + s(h, z, bs = "re"), exclude = "s(h,z)"),
  case(y ~ s(z) + s(x, h, bs = "fs", k = 5, m = 1), exclude = "s(x,h)"),
  case(count ~ f + s(x) + s(g, bs = "re") + offset(log(e)), family = poisson(), spelled = "poisson", exclude = "f"),
  case(count ~ s(x, bs = "bs") + z + offset(log(e)), family = nb(theta = 4), spelled = "nb(theta=4)", exclude = "z"))
write(toJSON(cases, digits = NA, na = "null", auto_unbox = TRUE), "cases.json")
