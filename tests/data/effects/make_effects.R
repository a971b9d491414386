# SPDX-License-Identifier: Apache-2.0
# Writes effects.json: predict(type = "terms", se.fit = TRUE) of R's mgcv for terms of some models in ../reference, at
# points that are equally spaced over the data.
#
#   Rscript make_effects.R        (made with R 4.2.2 and mgcv 1.8-41)
suppressMessages(library(mgcv))
invisible(Sys.setlocale("LC_COLLATE", "C"))

points <- 7   # of a curve, and of each variable of a surface

numbers <- function(v) paste0("[", paste(sprintf("%.12g", v), collapse = ", "), "]")
texts <- function(v) paste0("[", paste0('"', v, '"', collapse = ", "), "]")

# One term at the rows of `new`, a data frame of the variables that matter.
term <- function(m, data, column, label, new, names) {
  rows <- data[rep(1, nrow(new)), , drop = FALSE]
  for (v in names(new)) rows[[v]] <- new[[v]]
  p <- predict(m, rows, type = "terms", se.fit = TRUE)
  sprintf('{"label": "%s", "names": %s, "fit": %s, "se": %s}', label, names,
          numbers(p$fit[, column]), numbers(p$se.fit[, column]))
}

grid <- function(v) seq(min(v), max(v), length.out = points)

case <- function(folder, data, formula, knots = NULL) {
  data <- read.csv(file.path("..", "reference", data), stringsAsFactors = TRUE)
  m <- bam(as.formula(formula), data = data, method = "fREML", knots = knots, discrete = FALSE,
           control = gam.control(epsilon = 1e-12))
  terms <- character()
  for (s in m$smooth) {
    if (inherits(s, "random.effect")) {
      new <- setNames(data.frame(factor(levels(data[[s$term]]), levels(data[[s$term]]))), s$term)
    } else if (s$dim == 2) {
      new <- setNames(expand.grid(grid(data[[s$term[1]]]), grid(data[[s$term[2]]])), s$term)
    } else {
      new <- setNames(data.frame(grid(data[[s$term]])), s$term)
    }
    if (s$by != "NA") {
      new[[s$by]] <- if (is.factor(data[[s$by]])) factor(s$by.level, levels(data[[s$by]])) else 1
    }
    terms <- c(terms, term(m, data, s$label, s$label, new, "[]"))
  }
  for (label in attr(m$pterms, "term.labels")) {
    variables <- strsplit(label, ":")[[1]]
    if (!all(vapply(variables, function(v) is.factor(data[[v]]), NA))) next
    new <- expand.grid(lapply(setNames(variables, variables), function(v) factor(levels(data[[v]]), levels(data[[v]]))))
    terms <- c(terms, term(m, data, label, label, new, texts(do.call(paste, c(lapply(new, as.character), sep = " : ")))))
  }
  sprintf('{"case": "%s", "terms": [\n  %s]}', folder, paste(terms, collapse = ",\n  "))
}

mixed <- "mixed/data.csv.gz"
cases <- c(
  case("c06_gs4_by_factor", "c06_gs4_by_factor/data.csv.gz",
       'y ~ fac + x1 + s(x2, by = fac, bs = "ps", k = 15, m = c(2, 2)) + s(x0, bs = "ps", k = 15, m = c(2, 2))'),
  case("m01_factors_cr_cc", mixed,
       'y ~ f*g + s(x, bs="ps", k=15) + s(u, bs="cc", k=9) + s(z, bs="cr", k=10)'),
  case("m05_te_cr_cc", mixed, 'y ~ te(x, u, bs=c("cr","cc"), k=c(6,7))'),
  case("m08_numeric_by", mixed, 'y ~ s(x, by=z, bs="ps", k=10) + s(u, bs="cc", k=12)', list(u = c(0, 7))),
  case("m12_te_by_factor", mixed, 'y ~ te(x, z, by=f, bs="ps", k=c(5,5)) + f'),
  case("c07_gs6_re", "c07_gs6_re/data.csv.gz",
       paste('y ~ s(fac, bs = "re") + s(x0, bs = "ps", k = 12, m = c(2, 2)) + s(x1, bs = "ps", k = 12, m = c(2, 2))',
             '+ s(x2, bs = "ps", k = 20, m = c(2, 2)) + s(x3, bs = "ps", k = 12, m = c(2, 2))')))
writeLines(c("[", paste(cases, collapse = ",\n"), "]"), "effects.json")
