# SPDX-License-Identifier: Apache-2.0
# Objects of random models, with data and without, against the engine's own output. Usage: Rscript random_objects.R
# ROOT COUNT [FIRST]; exits with 1, naming the seeds, if an object is wrong. FIRST comes from the number of the week
# unless it is given.
library(tessera)
suppressMessages(library(mgcv))
arguments <- commandArgs(TRUE)
source(file.path(arguments[1], "tests/fit/random_model.R"))
source(file.path(arguments[1], "r/tests/support/objects.R"))
count <- as.integer(arguments[2])
first <- first_seed(arguments[3])

refused <- 0
for (seed in first + seq_len(count) - 1L) {
  model <- model_of(seed)
  table <- model$table
  table$start <- starts_of(table)
  options <- c(family = model$family, if (!is.null(model$weights)) c(weights = "w"),
               if (model$select) c(select = "true"), if (model$gamma != 1) c(gamma = model$gamma),
               if (model$rho != 0) c(rho = model$rho, "ar-start" = "start"))
  file <- tempfile(fileext = ".json")
  handle <- .Call(engine$C_table, table)
  pointer <- tryCatch(.Call(engine$C_fit, model$formula, handle, options, NULL), error = function(e) NULL)
  if (is.null(pointer)) {
    refused <- refused + 1
    next
  }
  before <- length(faults)
  tryCatch({
    .Call(engine$C_save, pointer, file)
    fit <- list(pointer = pointer)
    m <- read_tessera(file, data = table)
    m0 <- read_tessera(file)
    others <- table[sample(nrow(table), 40), ]
    others$z <- 1.05 * others$z
    for (what in c("with", "without")) {
      object <- if (what == "with") m else m0
      same_predictions(what, object, fit, others)
      same_summary(what, object, fit)
    }
    same_without_rows("", m, m0)
    same_rows("", m, fit, table)
  }, error = function(e) faults <<- c(faults, conditionMessage(e)))
  if (length(faults) > before) {
    faults[before + 1] <- paste0("seed ", seed, ", ", described(model), "\n  ", faults[before + 1])
  }
  unlink(file)
}
writeLines(faults)
cat(count, "models from seed", first, "on,", refused, "of them not fitted\n")
if (length(faults)) quit(status = 1)
