# SPDX-License-Identifier: Apache-2.0
# Fits by tessera-fit under a launcher: the bits of a fit in process, and errors by the status of the program.
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
refused(run(y ~ s(x), d, with = "no-such-command"), "tessera_usage", "no-such-command")
refused(run(y ~ s(x), d, workdir = "no/such/folder"), "tessera_usage", "workdir")
refused(run(y ~ distance(x)), "tessera_usage", "distance")
refused(tessera_bam(y ~ s(x), d, launcher = launcher, program = "/bin/true"), "tessera_usage", "version")
stopifnot(identical(list.files(), "table.csv"))
