# SPDX-License-Identifier: Apache-2.0
# The peak memory of fits, each in its own process: the engine's memory and, for an object with data, 8 bytes for each
# new number: prior weight, offset, predictor, mean, working weight and residual of each row.
if (!file.exists("/proc/self/status")) {
  cat("no /proc\n")
  quit(status = 0)
}
worker <- quote({
  library(tessera)
  what <- commandArgs(TRUE)
  memory <- function(field) {
    line <- grep(field, readLines("/proc/self/status"), value = TRUE)
    as.numeric(gsub("[^0-9]", "", line)) * 1024
  }
  n <- 2e6
  d <- data.frame(x = seq_len(n) / n, z = sin(seq_len(n)), l = seq_len(n) %% 3 == 0, i = seq_len(n) %% 7L)
  d$g <- structure(1L + seq_len(n) %% 5L, levels = letters[1:5], class = "factor")
  d$y <- d$x + cos(17 * seq_len(n))
  formula <- y ~ g + l + s(x, bs = "cr") + s(z, bs = "cr") + s(i, bs = "cr", k = 5)
  fit <- function(data, what) {
    options <- list(threads = 1, device = "cpu")
    if (what != "engine") return(tessera_bam(formula, data, model = what == "rows", options = options))
    table <- .Call(tessera:::C_table, data)
    .Call(tessera:::C_fit, deparse1(formula), table, c(threads = "1", device = "cpu", sample = "1"), NULL)
  }
  invisible(fit(d[1:1000, ], what))  # a first fit, so that all code is loaded
  invisible(gc())
  try(writeLines("5", "/proc/self/clear_refs"), silent = TRUE)
  before <- memory("VmRSS")
  m <- fit(d, what)
  cat((memory("VmHWM") - before) / n)
})
script <- tempfile(fileext = ".R")
writeLines(deparse(worker), script)
bytes_per_row <- vapply(c("engine", "object", "rows"), function(what) {
  as.numeric(system2(file.path(R.home("bin"), "Rscript"), c(shQuote(script), what), stdout = TRUE))
}, 0)
print(bytes_per_row)
margin <- 8
stopifnot(bytes_per_row[["object"]] <= bytes_per_row[["engine"]] + margin,
          bytes_per_row[["rows"]] <= bytes_per_row[["engine"]] + 6 * 8 + margin)
