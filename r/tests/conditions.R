# SPDX-License-Identifier: Apache-2.0
# Refused inputs: the class of the condition and its message of one line. Also: a fit leaves the session unchanged.
library(tessera)

set.seed(1)
d <- data.frame(x = runif(300), z = runif(300), g = factor(sample(letters[1:3], 300, TRUE)))
d$y <- d$x + rnorm(300)

refused <- function(expression, class, text) {
  condition <- tryCatch(expression, error = function(e) e)
  stopifnot(inherits(condition, class), inherits(condition, "tessera_error"), !grepl("\n", conditionMessage(condition)),
            grepl(text, conditionMessage(condition), fixed = TRUE))
  invisible(condition)
}
refused(tessera_bam(y ~ s(x, bs = "zz"), d), "tessera_usage", "bs=\"zz\" is not a basis")
refused(tessera_bam(y ~ s(x) + missing, d), "tessera_input", "missing")
refused(tessera_bam(y ~ s(x), d, family = mgcv::cox.ph()), "tessera_usage", "Cox PH")
refused(tessera_bam(list(y ~ s(x), z ~ s(x)), d, family = mgcv::mvn(2)), "tessera_usage", "Multivariate normal")
refused(tessera_bam(y ~ s(x), d, family = mgcv::negbin(c(1, 5))), "tessera_usage", "several theta: give one")
refused(tessera_bam(y ~ s(x), d, family = "other"), "tessera_usage", "family 'other'")
refused(tessera_bam("y ~ s(x)", d), "tessera_usage", "one formula")
refused(tessera_bam(y ~ s(x), d, method = "REML"), "tessera_usage", "method")
refused(tessera_bam(y ~ s(x), d, paraPen = list(x = list(diag(1)))), "tessera_usage", "no parametric term 'x'")
refused(tessera_bam(y ~ x, d, paraPen = list(x = list(diag(1), L = diag(1)))), "tessera_usage", "L is not supported")
refused(tessera_bam(y ~ s(x), d, fit = FALSE), "tessera_usage", "fit")
refused(tessera_bam(y ~ s(x), d, drop.intercept = TRUE), "tessera_usage", "drop.intercept")
refused(tessera_bam(y ~ s(x), d, scale = 1), "tessera_usage", "scale")
refused(tessera_bam(y ~ s(x), poisson(), d), "tessera_usage", "data is a family: name the arguments")
refused(tessera_bam(y ~ s(x), poisson, d), "tessera_usage", "data is a function")
refused(tessera_bam(y ~ s(x), d, other = 1), "tessera_usage", "argument other is")
refused(tessera_bam(y ~ s(x), d, weights = 1:3), "tessera_input", "weights has 3 values")
refused(tessera_bam(y ~ s(x), d[0, ]), "tessera_input", "no rows")
refused(tessera_bam(y ~ s(x), d, subset = x > 5), "tessera_input", "subset selects no row")
refused(tessera_bam(y ~ s(x), d, subset = integer(0)), "tessera_input", "subset selects no row")
refused(tessera_bam(y ~ s(x), d, subset = c("1", "none")), "tessera_input", "rows that the data do not have")
refused(tessera_bam(y ~ s(I(cbind(x, z))), d), "tessera_input", "matrix")
refused(tessera_bam(y ~ s(x, by = addNA(g)), d), "tessera_input", "addNA(g) has the level NA")
typed <- transform(d, day = as.Date("2020-01-01") + seq_len(300), high = x > 0.5)
refused(tessera_bam(y ~ s(day), typed), "tessera_input", "s(day): day is of class Date, but smooths")
refused(tessera_bam(y ~ s(x, by = high), typed), "tessera_input", "write as.numeric(high), or make it a factor")
refused(tessera_bam(y ~ s(x) + s(I(z > 0.5), bs = "re"), typed), "tessera_input", "I(z > 0.5) is of class AsIs")
refused(tessera_bam(y ~ te(as.POSIXct(day), x, k = 4), typed), "tessera_input", "as.POSIXct(day) is of class POSIXct")
stopifnot(is.numeric(predict(tessera_bam(y ~ s(as.numeric(day)) + s(x, by = as.numeric(high)), typed), typed[1:5, ])))
refused(tessera_bam(y ~ s(x), "none.csv"), "tessera_input", "none.csv")
refused(tessera_bam(y ~ s(x), d, options = list(other = 1)), "tessera_usage", "other")
with_missing <- replace(d, 1, NA)
refused(tessera_bam(y ~ s(z), within(d, z[3] <- NA), na.action = na.fail), "tessera_input", "missing values in z")
named <- setNames(d, sub("x", "my x", names(d)))
refused(tessera_bam(y ~ s(`my x`), named), "tessera_usage", "the name `my x` in a formula: rename the column")
refused(tessera_bam(y ~ `my x`, named), "tessera_usage", "the name `my x` in a formula: rename the column")
refused(tessera_bam(y ~ s(x) + offset(z) + offset(log(x)), d), "tessera_usage", "write offset(z + log(x))")
refused(tessera_bam(y ~ s(x, K = 5), d), "tessera_usage", "K")
# What R evaluates has its name in the formula or call
distance <- function(x) round(8 * abs(x - 0.5))
refused(tessera_bam(y ~ s(distance(x)), d), "tessera_input", "s(distance(x)): k = 10 is too large: 'distance(x)'")
refused(tessera_bam(y ~ s(x * distance(z)), d), "tessera_usage", "write arithmetic as I(x * distance(z))")
refused(tessera_bam(y ~ s(x), d, weights = x - 0.5), "tessera_input", "weights 'weights' are -0.")
refused(tessera_bam(y ~ s(x), d, offset = 1 / (0 * x)), "tessera_input", "row 1: offset is infinite")
fault <- refused(tessera_bam(y ~ s(x) + s(z, bs = "zz"), d), "tessera_usage", "character")
stopifnot(fault$position > 0, grepl("^", fault$lines, fixed = TRUE))

# Arguments without effect give a message, unless they have bam's default
told <- function(expression) {
  lines <- character(0)
  withCallingHandlers(expression, message = function(m) {
    lines <<- c(lines, conditionMessage(m))
    invokeRestart("muffleMessage")
  })
  lines
}
stopifnot(length(told(tessera_bam(y ~ s(x), d, chunk.size = 10000, discrete = FALSE, samfrac = 1, in.out = NULL,
                                  nei = NULL))) == 0,
          grepl("discrete, samfrac", told(tessera_bam(y ~ s(x), d, discrete = TRUE, samfrac = 0.1))),
          length(told(tessera_bam(y ~ s(x), d, discrete = TRUE, quiet = TRUE))) == 0,
          any(grepl("m has no effect", told(tessera_bam(y ~ s(x, g, bs = "fs", xt = "cr", m = 1, k = 5), d)))),
          "s(distance(x)): m has no effect on bs=\"cr\", as in mgcv\n" %in%
            told(tessera_bam(y ~ s(distance(x), bs = "cr", m = 1, k = 3), d)))
distance <- function(x) abs(x - 0.5)
stopifnot(grepl("distance(x), pnorm(z): predict() finds", fixed = TRUE,
                told(tessera_bam(y ~ s(distance(x)) + s(pnorm(z)) + s(abs(x), k = 4) + s(stats::dnorm(z)), d))),
          length(told(tessera_bam(y ~ s(distance(x)), d, quiet = TRUE))) == 0)

# A saved handle, and a closed handle
table <- .Call(tessera:::C_table, d)
model <- .Call(tessera:::C_fit, "y ~ s(x)", table, c(family = "gaussian"), NULL)
refused(.Call(tessera:::C_json, unserialize(serialize(model, NULL))), "tessera_usage", "closed")
.Call(tessera:::C_close, model)
refused(.Call(tessera:::C_json, model), "tessera_usage", "closed")
refused(.Call(tessera:::C_fit, "y ~ s(x)", model, character(0), NULL), "tessera_usage", "closed")
refused(.Call(tessera:::C_json, NULL), "tessera_usage", "closed")
refused(.Call(tessera:::C_json, table), "tessera_usage", "")
gc()

# The data, the random number state and the locale are unchanged
before <- list(.Random.seed, Sys.getlocale(), serialize(d, NULL))
m <- tessera_bam(y ~ s(x, k = 5) + te(x, z, k = 4), d)
stopifnot(identical(before, list(.Random.seed, Sys.getlocale(), serialize(d, NULL))))

# Forked processes
forked <- parallel::mclapply(1:2, function(i) tessera_bam(y ~ s(x), d)$coefficients, mc.cores = 2)
stopifnot(identical(forked[[1]], tessera_bam(y ~ s(x), d)$coefficients), identical(forked[[1]], forked[[2]]))

cluster <- parallel::makeCluster(1)
there <- parallel::clusterCall(cluster, function(d) tessera::tessera_bam(y ~ s(x), d)$coefficients, d)
parallel::stopCluster(cluster)
stopifnot(identical(forked[[1]], there[[1]]))
if (requireNamespace("future", quietly = TRUE)) {
  for (strategy in list(future::multisession, future::multicore)) {
    future::plan(strategy, workers = 2)
    m <- future::value(future::future(tessera::tessera_bam(y ~ s(x), d)))
    stopifnot(identical(m$coefficients, forked[[1]]), is.numeric(predict(m, d[1:3, ])))
  }
  future::plan(future::sequential)
}

# An interrupt ends a fit soon with R's own condition, and the session continues
interrupted_after <- function(seconds, expression) {
  system(sprintf("(sleep %g; kill -INT %d) &", seconds, Sys.getpid()))
  begin <- proc.time()[["elapsed"]]
  class <- tryCatch(expression, interrupt = function(e) class(e))
  stopifnot("interrupt" %in% class, proc.time()[["elapsed"]] - begin < seconds + 2)
}
set.seed(1)
large <- data.frame(x = runif(1e6), z = runif(1e6), v = runif(1e6))
large$y <- large$x + rnorm(1e6)
interrupted_after(1, tessera_bam(y ~ te(x, z, v, k = 9), large, options = list(threads = 1, device = "cpu")))
stopifnot(identical(forked[[1]], tessera_bam(y ~ s(x), d)$coefficients))

# Handlers of the caller see the messages of a fit; one that exits ends it, as an error of a handler does
traced <- function() tessera_bam(y ~ s(x), d, control = list(trace = TRUE))
stopifnot(length(told(traced())) > 2,
          inherits(tryCatch(traced(), message = identity), "message"),
          identical(tryCatch(withCallingHandlers(traced(), message = function(m) stop("of a handler")),
                             error = conditionMessage), "of a handler"),
          identical(suppressMessages(traced())$coefficients, forked[[1]]))
