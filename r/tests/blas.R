# SPDX-License-Identifier: Apache-2.0
# A fit leaves R's BLAS and its threads unchanged. Only of OpenBLAS the number of threads is known here.
library(tessera)
script <- sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE), fixed = TRUE)
support <- file.path(if (length(script)) dirname(script) else ".", "support")
source(file.path(support, "compiled.R"))
if (!load_compiled(file.path(support, "blas.c"))) {
  cat("SKIPPED: no compiler\n")
  quit(status = 0)
}
if (is.na(.Call("blas_threads"))) {
  cat("SKIPPED: R's BLAS is", La_library(), "and not OpenBLAS\n")
  quit(status = 0)
}

set.seed(1)
d <- data.frame(x = runif(2000), z = runif(2000))
d$y <- sin(6 * d$x) + rnorm(2000)
square <- matrix(rnorm(300^2), 300)
state <- function() list(.Call("blas_threads"), extSoftVersion()[["BLAS"]], La_library(), square %*% square)
for (threads in c(2, 1)) {
  .Call("set_blas_threads", threads)
  known <- state()
  stopifnot(known[[1]] == threads)
  fits <- lapply(1:2, function(fit_threads) {
    m <- tessera_bam(y ~ s(x) + te(x, z, k = 4), d, nthreads = fit_threads)
    refused <- tryCatch(tessera_bam(y ~ s(x, bs = "none"), d), error = function(e) "an error")
    stopifnot(identical(refused, "an error"), identical(known, state()))
    m$coefficients
  })
  stopifnot(identical(fits[[1]], fits[[2]]))
}
