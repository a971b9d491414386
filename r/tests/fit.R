# SPDX-License-Identifier: Apache-2.0
# tessera_bam compared with bam: the same coefficients by name, however arguments and variables are given.
library(tessera)
library(mgcv)

set.seed(1)
n <- 400
d <- data.frame(x = runif(n), w = runif(n, 0.5, 1.5), g = factor(sample(c("a", "b", "c"), n, TRUE)),
                i = sample(5L, n, TRUE), l = sample(c(TRUE, FALSE), n, TRUE), text = sample(c("u", "v", "w"), n, TRUE),
                day = as.Date("2020-01-01") + sample(300, n, TRUE))
d$y <- sin(6 * d$x) + rnorm(n, 0, 0.3)
d$dose <- factor(d$i, ordered = TRUE)
d$one <- scale(d$w)
complete <- d
d$x[5] <- NA
d$g[7] <- NA

# Calls both functions and compares them. Columns of smooths have other coordinates in bam: their span is compared.
same <- function(...) {
  call <- match.call(expand.dots = FALSE)$...
  ours <- eval(as.call(c(quote(tessera_bam), call)), parent.frame())
  theirs <- suppressWarnings(eval(as.call(c(quote(bam), call)), parent.frame()))
  stopifnot(identical(names(ours$coefficients), names(theirs$coefficients)))
  parametric <- !grepl("^(s|te|ti|t2)\\(", names(theirs$coefficients))
  stopifnot(all.equal(ours$coefficients[parametric], theirs$coefficients[parametric], tolerance = 1e-5))
  invisible(ours)
}

distance <- function(x) abs(x - 0.5)
knots <- 7
cut <- 0.4

# Variables: in the data, in the formula's environment, and from functions that the engine lacks
same(y ~ s(x, k = knots) + g + i, data = d)
same(y ~ distance(x) + s(w) + text + l, data = d)
same(y ~ s(distance(x)) + distance(w):g, data = d)
same(y ~ I(x > cut) + day + one + dose, data = d)
pasted <- same(y ~ paste(g, text) * w, data = d)
stopifnot(all.equal(predict(pasted, complete[1:9, ]), predict(bam(y ~ paste(g, text) * w, data = d), complete[1:9, ]),
                    tolerance = 1e-5))
same(y ~ factor(i) + s(x, by = g) + g - 1, data = d)
for (formula in c(y ~ ordered(i) + s(x), y ~ as.ordered(i) * w, y ~ ordered(round(7 * w)) + s(x))) {
  ordered <- same(formula, data = d)
  theirs <- bam(formula, data = d)
  stopifnot(identical(ordered$xlevels, theirs$xlevels),
            all.equal(predict(ordered, complete[1:2, ]), predict(theirs, complete[1:2, ]), tolerance = 1e-5),
            identical(predict(update(ordered, model = FALSE), complete[1:9, ]), predict(ordered, complete[1:9, ])))
}
same(list(y ~ s(x)), data = d)
same(y ~ g * poly(w, 2) + log(w), data = complete)
same(abs(y) + 0.1 ~ s(x), data = d, family = Gamma(link = "log"))
y <- complete$y
other <- complete$w
same(y ~ s(other))
same(complete$y ~ s(complete$w) + complete$g)
local({
  weight <- complete$w
  same(y ~ s(x), data = complete[c("x", "y")], weights = weight, offset = weight / 2)
})

# Matrices, in parametric terms: each column's least and greatest values may be in any row
of_matrix <- transform(complete, x = rev(x))
of_matrix$M <- cbind(p = complete$w, q = seq_len(n) / n, r = -sin(seq_len(n)))
with_matrix <- same(y ~ M * g + s(x), data = of_matrix)
theirs <- bam(y ~ M * g + s(x), data = of_matrix)
stopifnot(all.equal(predict(with_matrix, of_matrix[1:9, ]), predict(theirs, of_matrix[1:9, ]), tolerance = 1e-5),
          all.equal(with_matrix$var.summary, theirs$var.summary))
of_matrix$M[cbind(c(3, 8), 2:3)] <- NA
some <- quote(tessera_bam(y ~ M + s(x), data = of_matrix, subset = g != "a"))
without <- update(eval(some), model = FALSE)
stopifnot(nobs(without) == sum(of_matrix$g != "a" & complete.cases(of_matrix$M)), all.equal(coef(eval(some)), coef(without)),
          all.equal(summary(without)$p.table, summary(eval(some))$p.table))

# Missing values as a level, in parametric terms
with_level <- transform(d, h = addNA(g))
for (call in c(quote(same(y ~ h + s(w), data = with_level)), quote(same(y ~ addNA(g) * w + s(x), data = d)))) {
  missing <- eval(call)
  call[[1]] <- quote(bam)
  stopifnot(all.equal(predict(missing, with_level[1:9, ]), predict(eval(call), with_level[1:9, ]), tolerance = 1e-5),
            anyNA(unlist(missing$xlevels)))
}

# Contrasts
same(y ~ C(g, sum) * w + s(x), data = d)
options(contrasts = c("contr.sum", "contr.poly"))
same(y ~ g * w + offset(log(w)) + s(x), data = d, subset = l)
options(contrasts = c("contr.treatment", "contr.poly"))
d$h <- d$g
contrasts(d$h) <- "contr.helmert"
same(y ~ h + s(x), data = d, weights = w)

# mgcv's own k of smooths of several variables; one coefficient; a prefix, which mgcv reads as another function
same(y ~ s(w, i, bs = "ds", m = c(1, 0.5)), data = d)
same(y ~ s(w, i, bs = "ds") + te(w, x, d = 2, bs = "ds", m = list(c(1, 0.5))), data = transform(complete, i = i + w))
alone <- tessera_bam(y ~ 1, data = d)
stopifnot(all.equal(c(coef(alone), vcov(alone), AIC(alone)), c(mean(d$y), var(d$y) / n, AIC(lm(y ~ 1, d))),
                    check.attributes = FALSE),
          all.equal(coef(tessera_bam(y ~ w - 1, data = d)), coef(lm(y ~ w - 1, d))))
prefixed <- tessera_bam(y ~ mgcv::s(x, k = knots) + g, data = d)
plain <- tessera_bam(y ~ s(x, k = knots) + g, data = d)
stopifnot(identical(formula(prefixed), formula(plain)), identical(predict(prefixed, d[1:3, ]), predict(plain, d[1:3, ])))

# Arguments
same(y ~ s(x) + g, data = d, weights = w, subset = l & x > 0.2, offset = log(w))
same(y ~ s(x), data = d, subset = c(1:100, 50:200))
same(y ~ s(x), data = d, subset = -(1:20), na.action = na.exclude)
same(y ~ s(x) + s(w), data = d, sp = c(0.1, -1), gamma = 1.4)
same(y ~ s(x) + s(w), data = d, select = TRUE, nthreads = 1, control = list(maxit = 100))
same(y ~ s(x, bs = "cc"), data = d, knots = list(x = c(0, 1)))
seasonal <- tessera_bam(y ~ s(x, bs = "cc") + s(w), data = d, knots = list(x = c(0, 1)))
stopifnot(identical(tryCatch(update(seasonal, . ~ s(w)), message = conditionMessage),
                    "knots of x: no effect, because no smooth has such a variable\n"),
          identical(coef(suppressMessages(update(seasonal, . ~ s(w)))), coef(tessera_bam(y ~ s(w), data = d))))
same(y ~ s(distance(w), bs = "cr", k = 4), data = d, knots = list("distance(w)" = c(0, 0.1, 0.3, 0.5)))
same(y ~ s(x), data = d, AR.start = l)
same(y ~ s(x), data = d, method = "fREML", scale = 0, chunk.size = 10000, discrete = FALSE, fit = TRUE, paraPen = NULL)
same(y ~ te(x, w, k = c(5, 4)), data = d, rho = 0.3, AR.start = l)

# Districts: neighbours by name and index, polygons, a penalty, and districts without rows
row_of <- list(a = "b", b = c("a", "c"), c = "b")
squares <- lapply(c(a = 0, b = 1, c = 2), function(x) cbind(x + c(0, 1, 1, 0, 0), c(0, 0, 1, 1, 0)))
for (xt in list(list(nb = row_of), list(nb = list(a = 2, b = c(1, 3), c = 2)), list(polys = squares),
                list(penalty = matrix(c(1, -1, 0, -1, 2, -1, 0, -1, 1), 3)))) {
  same(y ~ s(g, bs = "mrf", xt = xt) + s(w), data = d)
}
of_file <- tempfile(fileext = ".json")
writeLines('{"a": ["b"], "b": ["a", "c"], "c": ["b"]}', of_file)
stopifnot(all.equal(coef(tessera_bam(y ~ s(g, bs = "mrf", xt = of_file) + s(w), data = d)),
                    coef(tessera_bam(y ~ s(g, bs = "mrf", xt = list(nb = row_of)) + s(w), data = d)), tolerance = 1e-12))
maps <- lapply(list(tessera_bam, bam), function(fit) {
  pdf(NULL)
  on.exit(dev.off())
  plot(fit(y ~ s(g, bs = "mrf", xt = list(polys = squares)) + s(w), data = d), select = 1)[[1]]
})
stopifnot(all.equal(maps[[1]][c("fit", "se")], maps[[2]][c("fit", "se")], tolerance = 1e-5, check.attributes = FALSE))
row_of$c <- c("b", "e")
row_of$e <- "c"
known <- factor(names(row_of))
farther <- same(y ~ s(g, bs = "mrf", xt = list(nb = row_of), k = 3) + l, data = d, knots = list(g = known))
theirs <- bam(y ~ s(g, bs = "mrf", xt = list(nb = row_of), k = 3) + l, data = transform(d, g = factor(g, known)),
              drop.unused.levels = FALSE)
there <- data.frame(g = known, l = TRUE)
stopifnot(all.equal(predict(farther, there), predict(theirs, there), tolerance = 1e-5))
unknown <- data.frame(g = c("a", "new"), l = TRUE, w = 0.2)
along <- tessera_bam(y ~ te(g, w, bs = c("mrf", "cr"), k = c(4, 4), xt = list(list(nb = row_of), NULL)), data = d)
for (model in list(farther, along)) stopifnot(identical(as.vector(is.na(suppressWarnings(predict(model, unknown)))), c(FALSE, TRUE)))

# Penalties of parametric terms, as in gam
of_levels <- transform(d, q = factor(i), y = y + c(0, 1, -1, 0.5, 2)[i])
ridges <- list(q = list(diag(4), crossprod(diff(diag(4))), rank = c(4, 3)), w = list(diag(1), sp = 3))
ours <- tessera_bam(y ~ q + w + s(x), data = of_levels, paraPen = ridges)
theirs <- gam(y ~ q + w + s(x), data = of_levels, method = "REML", paraPen = ridges,
              control = gam.control(newton = list(conv.tol = 1e-10)))
parametric <- 1:6
stopifnot(identical(names(ours$full.sp), names(theirs$full.sp)), all.equal(log(ours$sp), log(theirs$sp), tolerance = 1e-4),
          all.equal(ours$full.sp[["w"]], 3), all.equal(ours$edf[parametric], theirs$edf[parametric], tolerance = 1e-5),
          all.equal(coef(ours)[parametric], coef(theirs)[parametric], tolerance = 1e-6),
          all.equal(ours$paraPen[names(theirs$paraPen)], theirs$paraPen, check.attributes = FALSE),
          all.equal(summary(ours)$p.table, summary(theirs)$p.table, tolerance = 1e-5),
          all.equal(anova(ours)$pTerms.table, anova(theirs)$pTerms.table, tolerance = 1e-5),
          all.equal(predict(ours, of_levels[20:30, ]), predict(theirs, of_levels[20:30, ]), tolerance = 1e-6))

# Families: objects, functions and texts
same(l ~ s(x), data = d, family = binomial)
same(l ~ s(x), data = d, family = "binomial(probit)")
same(cbind(i, 3L) ~ s(x), data = d, family = quasibinomial())
same(i ~ s(x), data = d, family = "poisson")
same(i ~ s(x), data = d, family = nb())
same(i ~ s(x), data = d, family = nb(theta = 3, link = "sqrt"))
same(i ~ s(x), data = d, family = Tweedie(1.5))
same(w ~ s(x), data = d, family = quasi("log", "mu^2"))
same(y ~ s(x), data = d, family = scat())
same(k ~ s(x), data = transform(d, k = findInterval(y, stats::quantile(y, c(0.2, 0.5, 0.8))) + 1), family = ocat(theta = c(1, 0.5)))
same(i ~ s(x), data = d, family = ziP())
same(i ~ s(x), data = d, family = ziP(theta = c(-0.5, 0.1), b = 0.2))
limited <- transform(d, limit = ifelse(y > 0.8, Inf, y), y = pmin(y, 0.8))
limited$both <- cbind(limited$y, limited$limit)
same(cbind(y, limit) ~ s(x) + g, data = limited, family = cnorm())
same(both ~ s(x), data = limited, family = cnorm(theta = 0.4))
text <- tessera:::family_options
stopifnot(identical(text(tw(a = 1.1)), c(family = "tw(a=1.1000000000000001,b=1.99)", link = "log")),
          identical(text(nb(theta = -3))[["family"]], "nb(theta=-3)"),
          identical(text(scat(theta = c(5, 0.5), min.df = 2))[["family"]], "scat(theta=c(5,0.5),min.df=2)"),
          identical(text(ocat(R = 4))[["family"]], "ocat(R=4)"),
          identical(text(cnorm(-2, "log")), c(family = "cnorm(theta=-2)", link = "log")),
          identical(text(ocat(theta = c(1.5, 0.25)))[["family"]], "ocat(theta=c(1.5,0.25))"),
          identical(text(tessera:::family_of("elf(qu=0.9)"))[["family"]], "elf(qu=0.9)"),
          identical(text(ziP())[["family"]], "ziP(b=0)"),
          identical(text(ziP(theta = c(-1, 0.25), b = 0.5))[["family"]], "ziP(theta=c(-1,0.25),b=0.5)"),
          identical(text(negbin(3)), c(family = "nb(theta=3)", link = "log")),
          identical(text(Gamma()), c(family = "Gamma", link = "inverse")))

# Quantiles: each is a fit by itself, whose arguments and call are those of tessera_bam
told <- character(0)
quantiles <- withCallingHandlers(
  tessera_mqgam(y ~ s(x), d, c(0.8, 0.25), weights = w, lsig = c(-2, -3), err = 0.1),
  message = function(m) { told <<- c(told, conditionMessage(m)); invokeRestart("muffleMessage") })
alone <- tessera_bam(y ~ s(x), d, "elf(qu=0.25,lsig=-3,err=0.1)", weights = w)
stopifnot(identical(names(quantiles), c("0.25", "0.8")), identical(told, "quantiles cross in 0 rows of the fit\n"),
          identical(coef(quantiles[["0.25"]]), coef(alone)), identical(coef(update(quantiles[[1]], weights = NULL)), coef(update(alone, weights = NULL))),
          all.equal(mean(quantiles[["0.8"]]$y < fitted(quantiles[["0.8"]])), 0.8, tolerance = 0.05))
# Rows in which quantiles cross are counted once.
few <- d[1:60, ]
told <- character(0)
near <- withCallingHandlers(
  tessera_mqgam(y ~ s(x, k = 20), few, c(0.48, 0.49, 0.5, 0.51, 0.52), lsig = c(-4, -1, -4, -1, -4), err = 0.02),
  message = function(m) { told <<- c(told, conditionMessage(m)); invokeRestart("muffleMessage") })
steps <- apply(sapply(near, `[[`, "linear.predictors"), 1, diff)
crosses <- colSums(steps < 0)
stopifnot(max(crosses) > 1, identical(told, sprintf("quantiles cross in %d rows of the fit\n", sum(crosses > 0))))
for (wrong in list(quote(tessera_mqgam(y ~ s(x), d, 0.5, family = gaussian)), quote(tessera_mqgam(y ~ s(x), d, c(0.1, 0.9), lsig = 1:3)),
                   quote(tessera_mqgam(y ~ s(x), d, "0.5")), quote(tessera_mqgam(y ~ s(x), d)))) {
  stopifnot(inherits(tryCatch(eval(wrong), error = identity), "tessera_usage"))
}

# The same data in other forms
m <- tessera_bam(y ~ s(x) + g, data = d)
if (requireNamespace("data.table", quietly = TRUE)) {
  stopifnot(identical(tessera_bam(y ~ s(x) + g, data = data.table::as.data.table(d))$coefficients, m$coefficients))
}
if (requireNamespace("tibble", quietly = TRUE)) {
  stopifnot(identical(tessera_bam(y ~ s(x) + g, data = tibble::as_tibble(d))$coefficients, m$coefficients))
}
stopifnot(identical(tessera_bam(y ~ s(x) + g, data = as.list(d))$coefficients, m$coefficients))
folder <- tempfile()
dir.create(folder)
file <- file.path(folder, "table.csv")
write.csv(d[c("x", "g", "y", "w")], file, row.names = FALSE)
stopifnot(all.equal(tessera_bam(y ~ s(x, k = knots) + g, data = file, weights = w, subset = x > 0.2)$coefficients,
                    tessera_bam(y ~ s(x, k = knots) + g, data = d, weights = w, subset = x > 0.2)$coefficients,
                    tolerance = 1e-10))
parts <- file.path(folder, "parts", paste0("part=", 1:2))
for (i in 1:2) {
  dir.create(parts[i], recursive = TRUE)
  write.csv(d[if (i == 1) 1:50 else 51:nrow(d), c("x", "g", "y", "w")], file.path(parts[i], "rows.csv"), row.names = FALSE)
}
for (table in list(file.path(folder, "parts"), file.path(parts, "rows.csv"))) {
  stopifnot(identical(tessera_bam(y ~ s(x, k = knots) + g, data = table)$coefficients,
                      tessera_bam(y ~ s(x, k = knots) + g, data = file)$coefficients))
}

# Options of the engine for reading the table
blocks <- list(block_rows = 64)
stopifnot(all.equal(tessera_bam(y ~ s(x, k = knots) + g, data = d, options = blocks)$coefficients,
                    tessera_bam(y ~ s(x, k = knots) + g, data = file, options = c(blocks, factor = "g"))$coefficients,
                    tolerance = 1e-10))

# The call, also from within a function
wrapper <- function(...) tessera_bam(y ~ s(x), data = d, ...)
stopifnot(identical(wrapper(weights = w)$coefficients, tessera_bam(y ~ s(x), data = d, weights = w)$coefficients),
          identical(m$call, quote(tessera_bam(formula = y ~ s(x) + g, data = d))))
text_of <- function(expression) paste(deparse(expression), collapse = "")
larger <- update(m, . ~ . + s(w), select = TRUE)
stopifnot(identical(text_of(larger$call), "tessera_bam(formula = y ~ s(x) + g + s(w), data = d, select = TRUE)"),
          identical(larger$coefficients, tessera_bam(y ~ s(x) + g + s(w), d, select = TRUE)$coefficients),
          identical(deparse(formula(larger)), "y ~ s(x) + g + s(w)"))

# Without a model frame an object is small, for any number of rows and of points of its splines
small <- tessera_bam(y ~ s(x) + s(w) + s(i, k = 4) + s(x, by = w), data = d, model = FALSE)
stopifnot(length(serialize(small, NULL)) < 2^20)
# The object includes the 2,000 points of each thin plate spline.
set.seed(2)
many <- data.frame(x = runif(5000), w = runif(5000), z = runif(5000))
many$y <- sin(6 * many$x) + rnorm(5000)
pointed <- tessera_bam(y ~ s(x) + s(w) + s(z) + s(x, w), data = many, model = FALSE)
saveRDS(pointed, file)
stopifnot(nrow(pointed$smooth[[4]]$Xu) == 2000, file.size(file) < 1e6)

# Describing a table before a fit: a file, and the same rows in a frame
csv <- tempfile(fileext = ".csv")
write.csv(d[c("x", "g", "i", "day")], csv, row.names = FALSE)
of_file <- tessera_columns(csv, options = list(date = "day"))
of_frame <- tessera_columns(d[c("x", "g", "i", "day")])
stopifnot(identical(of_file$name, c("x", "g", "i", "day")), identical(of_file$kind, c("numbers", "factor", "numbers", "numbers")),
          all(of_file$missing == c(1, 1, 0, 0)), identical(of_file$first_levels[[2]], c("a", "b", "c")),
          of_file$unit[4] == "days since 1970-01-01", attr(of_file, "rows") == n,
          all.equal(of_frame[c("name", "kind", "missing", "levels")], of_file[c("name", "kind", "missing", "levels")],
                    check.attributes = FALSE),
          identical(of_frame$least[4], as.numeric(min(d$day))), of_file$greatest[4] == max(d$day),
          identical(tessera_columns(csv, "g", list(threads = 1))$name, "g"))
stopifnot(all.equal(coef(tessera_bam(x ~ day, data = csv, options = list(date = "day"))),
                    coef(tessera_bam(x ~ day, data = d))))
unlink(csv)
