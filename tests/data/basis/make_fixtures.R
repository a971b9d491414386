# SPDX-License-Identifier: Apache-2.0
# Writes the fixtures of tests/unit/gam: results of mgcv and R for small data.
#
#   Rscript make_fixtures.R        (made with R 4.2.2 and mgcv 1.8-41)
#
# smooths.json: smoothCon() before and after its constraint, and PredictMat() at points beyond the data.
# parametric.json: model.matrix() of formulas that exercise R's coding of factors.
suppressMessages(library(mgcv))

json <- function(v) {
  if (is.null(v)) return("null")
  if (is.list(v)) {
    if (is.null(names(v))) return(paste0("[", paste(vapply(v, json, ""), collapse = ", "), "]"))
    return(paste0("{", paste0('"', names(v), '": ', vapply(v, json, ""), collapse = ", "), "}"))
  }
  if (is.matrix(v)) return(json(lapply(seq_len(nrow(v)), function(i) I(as.vector(v[i, ])))))
  text <- if (is.character(v)) paste0('"', gsub('"', '\\\\"', v), '"')
          else if (is.logical(v)) ifelse(v, "true", "false")
          else sprintf("%.15g", v)
  if (length(v) == 1 && !inherits(v, "AsIs")) text else paste0("[", paste(text, collapse = ", "), "]")
}

write_cases <- function(cases, file) {
  lines <- vapply(cases, json, "")
  writeLines(c("[", paste0(lines, c(rep(",", length(lines) - 1), "")), "]"), file)
}

set.seed(20)
n <- 30
shown <- 10  # rows of X that are written
data <- data.frame(
  x = round(runif(n), 4),
  z = round(3 + 2 * rnorm(n), 3),
  v = round(rgamma(n, 2), 3),
  f = factor(rep(c("a", "b", "c"), length.out = n)),
  w = round(rnorm(n), 2),
  one = rep(2.5, n))
new <- data.frame(
  x = c(-1.2, -0.1, 0, 0.25, 0.5, 0.99, 1.05, 2.3),
  z = c(-9, -1, 0.5, 2, 3, 5, 8, 20),
  v = c(-2, 0, 0.3, 1, 2, 4, 6, 11),
  f = factor(c("a", "b", "c", "a", "b", "c", "a", "b"), levels = c("a", "b", "c")),
  w = seq(-2, 2, length.out = 8),
  one = rep(2.5, 8))

source("own_bases.R")

smooth_case <- function(call, knots = NULL) {
  spec <- eval(parse(text = with_own_bases(call)))
  free <- suppressWarnings(smoothCon(spec, data, knots))
  bound <- suppressWarnings(smoothCon(spec, data, knots, absorb.cons = TRUE))
  # Those of a Markov random field are its districts.
  knots_of <- function(sm) if (is.factor(sm$knots)) numeric(0) else if (!is.null(sm$knots)) sm$knots else sm$xp
  first <- free[[1]]
  margins <- if (is.null(first$margin)) list(first) else first$margin
  list(call = call,
       supplied = if (is.null(knots)) NULL else lapply(knots, I),
       labels = I(vapply(bound, function(sm) sm$label, "")),
       knots = unlist(lapply(margins, function(sm)
         c(list(I(as.numeric(knots_of(sm)))), rep(list(I(numeric(0))), sm$dim - 1))), recursive = FALSE),
       S_scale = I(first$S.scale),
       rank = I(first$rank),
       S = lapply(first$S, function(s) matrix(s, nrow(s))),
       X = lapply(free, function(sm) head(matrix(sm$X, n), shown)),
       X_constrained = lapply(bound, function(sm) head(matrix(sm$X, n), shown)),
       predicted = lapply(bound, function(sm) matrix(PredictMat(sm, new), nrow(new))))
}

smooths <- list(
  smooth_case('s(x, bs="ps", k=7, m=c(2,1))'),
  smooth_case('s(x, bs="ps", k=8, m=c(2,2))'),
  smooth_case('s(z, bs="ps", k=9, m=c(2,3))'),
  smooth_case('s(x, bs="ps", k=4, m=c(2,2))'),
  smooth_case('s(x, bs="ps", k=8, m=c(2,2))', list(x = c(-0.1, 1.15))),
  smooth_case('s(x, bs="ps", k=6, m=c(2,2))', list(x = c(-0.9, -0.5, -0.2, -0.05, 0.3, 0.7, 1.1, 1.3, 1.8, 2))),
  smooth_case('s(x, bs="cp", k=6, m=c(2,2))'),
  smooth_case('s(x, bs="cp", k=3, m=c(2,1))'),
  smooth_case('s(z, bs="cp", k=8, m=c(2,2))', list(z = c(-4, 12))),
  smooth_case('s(x, bs="cp", k=5, m=c(2,2))', list(x = c(0, 0.1, 0.35, 0.5, 0.8, 1))),
  smooth_case('s(v, bs="cr", k=7)'),
  smooth_case('s(x, bs="cr", k=3)'),
  smooth_case('s(v, bs="cr", k=5)', list(v = c(0.1, 0.6, 1.5, 3, 5))),
  smooth_case('s(v, bs="cc", k=7)'),
  smooth_case('s(x, bs="cc", k=4)'),
  smooth_case('s(x, bs="cc", k=6)', list(x = c(-0.1, 1.2))),
  smooth_case('s(x, bs="cc", k=5)', list(x = c(0, 0.2, 0.5, 0.9, 1.1))),
  smooth_case('s(x, bs="tp")'),
  smooth_case('s(z, bs="tp", k=5, m=2)'),
  smooth_case('s(v, bs="tp", k=3)'),
  smooth_case('s(x, bs="tp", k=30)'),
  smooth_case('s(v, by=f, bs="tp", k=6)'),
  smooth_case('s(x, by=w, bs="tp", k=6)'),
  smooth_case('s(x, by=one, bs="tp", k=7)'),
  smooth_case('s(x, bs="tp", m=1)'),
  smooth_case('s(v, bs="tp", m=3, k=7)'),
  smooth_case('s(x, z, bs="tp", k=12)'),
  smooth_case('s(z, x, bs="tp", m=3, k=11)'),
  smooth_case('s(x, z, v, bs="tp", k=14)'),
  smooth_case('s(x, v, by=f, bs="tp", k=8)'),
  smooth_case('s(x, v, bs="tp", k=30)'),
  smooth_case('te(x, v, bs="tp", k=4)'),
  smooth_case('te(x, v, bs=c("cr","tp"), m=list(NA,1), np=FALSE, k=c(3,5))'),
  smooth_case('te(x, z, v, bs=c("tp","cr"), d=c(2,1), k=c(6,4))'),
  smooth_case('s(x, z, bs="ts", k=9)'),
  smooth_case('s(x, bs="ds", k=8)'),
  smooth_case('s(x, z, bs="ds", k=13)'),
  smooth_case('s(x, z, bs="ds", k=10, m=c(1,0.5))'),
  smooth_case('s(x, z, v, bs="ds", k=12, m=c(2,0.5))'),
  smooth_case('s(v, bs="gp", k=8)'),
  smooth_case('s(x, z, bs="gp", k=9, m=c(2,3,1.5))'),
  smooth_case('s(x, v, by=f, bs="gp", k=7, m=-4)'),
  smooth_case('s(x, z, v, bs="gp", k=10, m=5)'),
  smooth_case('s(z, by=w, bs="gp", k=6, m=c(-1,5))'),
  smooth_case('te(x, z, v, d=c(2,1), bs=c("ds","cr"), k=c(6,4), m=list(c(1,0.5),NA))'),
  smooth_case('s(x, bs="bs", k=8)'),
  smooth_case('s(z, bs="bs", k=9, m=c(3,2,1))'),
  smooth_case('s(x, bs="bs", k=8, m=c(3,3,0))'),
  smooth_case('s(x, bs="bs", k=6, m=2)'),
  smooth_case('s(v, bs="bs", k=3, m=c(1,1,0))', list(v = c(-3, 12))),
  smooth_case('s(x, by=w, bs="bs", k=6, m=c(2,0))'),
  smooth_case('s(x, bs="bs", k=7, m=c(3,1))', list(x = c(-0.1, 1.15))),
  smooth_case('s(x, bs="bs", k=9, m=c(3,2))', list(x = c(-0.1, 0.1, 0.9, 1.1))),
  smooth_case('s(x, bs="bs", k=5, m=c(2,1))', list(x = c(-0.9, -0.5, -0.05, 0.4, 0.5, 1.1, 1.3, 1.8))),
  smooth_case('te(x, z, bs=c("bs","cr"), k=c(5,4), m=list(c(3,1),NA))'),
  smooth_case('s(x, bs="ts", k=6)'),
  smooth_case('s(v, by=f, bs="ts", k=5)'),
  smooth_case('s(v, bs="cs", k=7)'),
  smooth_case('s(x, by=w, bs="cs", k=5)'),
  smooth_case('te(x, v, bs=c("cs","cr"), k=c(4,5))'),
  smooth_case('s(f, bs="re")'),
  smooth_case('s(w, bs="re")'),
  smooth_case('s(x, by=f, bs="ps", k=6, m=c(2,2))'),
  smooth_case('s(v, by=f, bs="cr", k=5)'),
  smooth_case('s(x, by=w, bs="ps", k=6, m=c(2,2))'),
  smooth_case('s(x, by=one, bs="cr", k=5)'),
  smooth_case('te(x, z, bs="ps", k=c(5,4), m=list(c(2,2),c(2,1)))'),
  smooth_case('te(x, z, bs="ps", k=c(5,4), m=list(c(2,2),c(2,2)), np=FALSE)'),
  smooth_case('te(x, v, bs=c("cp","cr"), k=c(4,5))'),
  smooth_case('te(x, z, bs=c("cp","ps"), k=c(4,4))', list(x = c(-0.2, 1.3))),
  smooth_case('te(v, x, bs=c("cc","cr"), k=c(5,4))'),
  smooth_case('te(x, v, by=f, bs="cr", k=c(3,3))'),
  smooth_case('te(x, f, bs=c("cr","re"), k=c(5,3))'),
  smooth_case('ti(x, z, k=c(4,5))'),
  smooth_case('ti(v)'),
  smooth_case('ti(x, z, bs=c("ps","tp"), k=c(5,4), m=list(c(2,2),2))'),
  smooth_case('ti(x, z, bs="ps", k=c(5,4), m=list(c(2,2),c(2,1)), np=FALSE, mc=c(0,1))'),
  smooth_case('ti(x, v, by=f, bs=c("cc","cr"), k=c(5,4))'),
  smooth_case('ti(x, v, by=w, k=c(4,3))'),
  smooth_case('ti(x, f, bs=c("cr","re"), k=c(5,3))'),
  smooth_case('ti(x, z, v, bs=c("tp","cr"), d=c(2,1), k=c(6,4))'),
  smooth_case('te(x, z, v, bs="cr", k=c(3,3,3))'),
  smooth_case('s(f, bs="mrf", xt=list(nb=list(a="b", b=c("a","c"), c="b")))'),
  smooth_case('s(f, by=w, bs="mrf", xt=list(nb=list(c=c(2,3), b=1, a=1)))'),
  smooth_case('te(f, x, bs=c("mrf","cr"), k=c(3,4), xt=list(list(nb=list(a="b", b=c("a","c"), c="b")), NULL))'),
  smooth_case('ti(x, f, bs=c("cr","mrf"), k=c(4,3), xt=list(NULL, list(nb=list(a="b", b=c("a","c"), c="b"))))'),
  smooth_case('s(x, bs="ad", k=12, m=4)'),
  smooth_case('s(z, bs="ad", k=9, m=2)'),
  smooth_case('s(x, by=w, bs="ad", k=10, m=3)'),
  smooth_case('s(v, bs="ad", k=8, m=1)'),
  smooth_case('s(x, bs="ad", k=11, m=5, xt=list(bs="cp"))'),
  smooth_case('s(v, bs="ad", k=10, m=3, xt=list(bs="cr"))'),
  smooth_case('s(x, bs="ad", k=11, m=4, xt=list(bs="cc"))'))
write_cases(c(list(list(data = lapply(data, function(c) I(if (is.factor(c)) as.character(c) else c)),
                        new = lapply(new, function(c) I(if (is.factor(c)) as.character(c) else c)))),
              smooths), "smooths.json")

table <- data.frame(x = c(0.5, 1, 2, -1, 3, 4, 0.25, 7, 9, -2, 1.5, 6),
                    z = c(3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8),
                    a = factor(c("A1", "A2", "A1", "A2", "A1", "A2", "A1", "A2", "A1", "A2", "A1", "A2")),
                    b = factor(c("u", "v", "w", "w", "u", "v", "v", "w", "u", "u", "w", "v")),
                    c = factor(c("p", "p", "q", "q", "p", "q", "q", "p", "q", "p", "p", "q")))
parametric_case <- function(text) {
  design <- model.matrix(as.formula(text), table)
  list(formula = paste("y", text), names = I(colnames(design)), X = matrix(design, nrow(design)))
}
formulas <- c("~ x", "~ a", "~ b + x", "~ a * b", "~ a + a:b", "~ b:a + b + a", "~ a:b", "~ x:b", "~ x + x:b",
              "~ x * b", "~ x + z + x:z", "~ 0 + a + b", "~ b - 1 + x", "~ 0 + x + b", "~ 0 + a:b",
              "~ a * b * c", "~ a + b + c + a:b:c", "~ a + x:a:b", "~ 0 + x", "~ 1", "~ a:x + b",
              "~ a + b + x:a + x:b")
write_cases(c(list(list(table = lapply(table, function(c) I(if (is.factor(c)) as.character(c) else c)))),
              lapply(formulas, parametric_case)), "parametric.json")
