# SPDX-License-Identifier: Apache-2.0
# Arrow streams, made by a C program in the form of package arrow: the model equals that of the same columns in memory.
library(tessera)
engine <- asNamespace("tessera")

script <- sub("--file=", "", grep("^--file=", commandArgs(), value = TRUE), fixed = TRUE)
support <- file.path(if (length(script)) dirname(script) else ".", "support")
source(file.path(support, "compiled.R"))
if (!load_compiled(file.path(support, "stream.c"))) {
  cat("no compiler\n")
  quit(status = 0)
}

set.seed(1)
n <- 500
d <- data.frame(x = runif(n), g = factor(sample(c("a", "b", "c"), n, TRUE), levels = c("c", "a", "b")))
d$y <- sin(6 * d$x) + as.integer(d$g) + rnorm(n, 0, 0.3)
codes <- as.integer(d$g) - 1L
ends <- 0:3
stream <- function(fails = FALSE) {
  pointer <- .Call("fill_stream", .Call(engine$C_stream), d$x, d$y, codes, ends, "cab", fails)
  structure(pointer, class = "nanoarrow_array_stream")
}
fit <- function(data, ...) tessera_bam(y ~ g + s(x), data, ..., quiet = TRUE)
expected <- fit(d, model = FALSE, subset = x > 0.1)
found <- fit(stream(), subset = x > 0.1)
stopifnot(identical(found$coefficients, expected$coefficients), identical(found$xlevels, expected$xlevels),
          all.equal(predict(found, d[1:5, ]), predict(expected, d[1:5, ])))

# A table of package arrow is read as a stream only if R keeps none of its data; a RecordBatchReader always is.
stopifnot(engine$is_stream(structure(list(), class = "ArrowTabular"), FALSE),
          !engine$is_stream(structure(list(), class = "ArrowTabular"), TRUE),
          engine$is_stream(structure(list(), class = "RecordBatchReader"), TRUE), !engine$is_stream(d, FALSE))

refused <- function(expression, text) {
  condition <- tryCatch(expression, tessera_error = identity)
  stopifnot(inherits(condition, "tessera_error"), grepl(text, conditionMessage(condition), fixed = TRUE))
}
refused(fit(stream(fails = TRUE)), "the second batch is lost")
refused(fit(structure(.Call(engine$C_stream), class = "nanoarrow_array_stream")), "released")
refused(.Call(engine$C_table_stream, NULL, character(0)), "stream")
used <- stream()
invisible(fit(used))
refused(fit(used), "released")
refused(fit(stream(), launcher = "env"), "cannot read a stream of Arrow")
refused(tessera_bam(y ~ s(sinh(x)), stream()), "sinh")

# Each stream was released by the library, or by R's garbage collection.
rm(used, found)
invisible(gc())
stopifnot(.Call("open_streams") == 0)
