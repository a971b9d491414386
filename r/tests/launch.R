# SPDX-License-Identifier: Apache-2.0
# Fits by tessera-fit under a launcher: the same bits as a fit in this process; errors follow the program's exit status.
library(tessera)

program <- Sys.getenv("TESSERA_FIT", Sys.which("tessera-fit"))
launcher <- Sys.getenv("TESSERA_LAUNCHER")
if (!nzchar(program) || !nzchar(launcher)) {
  cat("no program, or no launcher: set TESSERA_FIT and TESSERA_LAUNCHER\n")
  quit(status = 0)
}
folder <- tempfile()
dir.create(folder)
setwd(folder)

set.seed(1)
n <- 400
levels <- c("\u00fc", "a", "", "b,=\"c", "NA")
d <- data.frame(x = runif(n), g = factor(sample(levels, n, TRUE), levels = levels), i = sample(5L, n, TRUE),
                l = sample(c(TRUE, FALSE), n, TRUE), w = runif(n, 0.5, 1.5))
d$y <- sin(6 * d$x) + rnorm(n, 0, 0.3)
d$dose <- factor(d$i, ordered = TRUE)
d$x[5] <- NA
d$g[7] <- NA
d$l[8] <- NA
distance <- function(x) abs(x - 0.5)
same <- function(...) {
  here <- tessera_bam(..., data = d)
  there <- tessera_bam(..., data = d, launcher = launcher, program = program)
  stopifnot(identical(here$coefficients, there$coefficients))
}
same(y ~ s(x) + g + dose + s(i, k = 4), weights = w, subset = l)
same(y ~ g * w + distance(x) + s(x, by = g), offset = w)
same(l ~ s(x) + relevel(g, "a"), family = binomial("probit"), select = TRUE)

# Things that a file could lose: texts that look like numbers, missing values, quotes and line ends within fields,
# names, bits. The whole model must be the same.
engine <- asNamespace("tessera")
odd <- c("", "NA", "NA_", " a", "a ", "a,b", "b\"c", "\"", "\"\"", "line\nbreak", "\r", "cr\r\nlf", "\u00fc", "1", "01", "1.0",
         "1e5", "TRUE", "nan", "Inf", "'q'", "x=y", "@f", "tab\t", "-", "#", "\\n", "\ufeffbom", ";")
names <- c("odd", "o,d", "o\"d", "o d", "\u00fcd", "o\nd", "#", "1")
job <- list(launcher = "env", program = program)
for (seed in 1:8) {
  set.seed(seed)
  factor_of <- function(count) {
    levels <- sample(odd, count)
    x <- factor(sample(levels, n, TRUE), levels = levels, ordered = runif(1) < 0.5)
    replace(x, sample(n, 5), NA)
  }
  columns <- list(x = replace(runif(n), 3, NA), g = factor_of(sample(2:6, 1)), o = factor_of(4),
                  l = sample(c(TRUE, FALSE, NA), n, TRUE, c(0.5, 0.4, 0.01)), i = sample(c(-3:5, NA), n, TRUE),
                  big = 2^53 + 2 * sample(1000, n, TRUE), w = 1 / seq_len(n), y = rnorm(n),
                  odd = replace(rnorm(n), 1:6, c(-0, 1e-308, 5e-324, 1 / 3, NaN, 0.1 + 0.2)))
  names(columns)[9] <- names[seed]
  formula <- sprintf("y ~ g + o + l + s(x, k = 4) + s(i, k = 4) + `%s` + big", names[seed])
  options <- c(family = "gaussian", weights = "w")
  here <- engine$fit_table(formula, .Call(engine$C_table, columns), options, list(), TRUE)
  there <- engine$fit_job(formula, columns, options, job, TRUE)
  stopifnot(identical(.Call(engine$C_json, here), .Call(engine$C_json, there)))
}

write.csv(d[c("x", "i", "w", "y")], "table.csv", row.names = FALSE)
basis <- 7
of_file <- function(...) {
  tessera_bam(y ~ s(x, k = basis) + log(w), data = "table.csv", weights = w, subset = x > 0.2, ...)
}
stopifnot(identical(of_file()$coefficients, of_file(launcher = launcher, program = program)$coefficients))

refused <- function(expression, class, text) {
  condition <- tryCatch(expression, error = function(e) e)
  stopifnot(inherits(condition, class), !grepl("\n", conditionMessage(condition)),
            grepl(text, conditionMessage(condition), fixed = TRUE))
}
run <- function(formula, data = "table.csv", ..., with = launcher) {
  tessera_bam(formula, data = data, launcher = with, program = program, ...)
}
refused(run(y ~ s(zz)), "tessera_input", "unknown column 'zz'")
refused(run(y ~ s(x, bs = "q")), "tessera_usage", "formula, character")
refused(run(y ~ s(x), "none.h5"), "tessera_input", "none.h5")
# Status 75 is R's interrupt, as of Ctrl-C.
stopped <- tryCatch(run(y ~ s(x), options = list(time_limit = 0.001)), interrupt = identity)
stopifnot(inherits(stopped, "tessera_interrupted"), grepl("time limit", conditionMessage(stopped)))
refused(run(y ~ s(x), d, with = "no-such-command"), "tessera_usage", "no-such-command")
refused(run(y ~ s(x), d, workdir = "no/such/folder"), "tessera_usage", "workdir")
refused(run(y ~ distance(x)), "tessera_usage", "distance")
refused(tessera_bam(y ~ s(x), d, launcher = launcher, program = "/bin/true"), "tessera_usage", "version")
stopifnot(identical(list.files(), "table.csv"))
