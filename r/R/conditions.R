# SPDX-License-Identifier: Apache-2.0
# Conditions of R: an error of the library, of tessera-fit or of this package has a class for its exit status.

status_classes <- c("2" = "tessera_usage", "3" = "tessera_input", "4" = "tessera_not_converged",
                    "5" = "tessera_device_absent", "6" = "tessera_fault", "75" = "tessera_interrupted")

#' Raises the error for an exit status. `lines`: the formula with carets; `position`: the first fault in the formula.
raise_error <- function(status, message, lines = "", position = -1) {
  if (status == 75) raise_interrupt(message)
  class <- c(status_classes[as.character(status)], "tessera_error", "error", "condition")
  stop(structure(class = unname(class[!is.na(class)]),
                 list(message = message, call = NULL, status = status, lines = lines, position = position)))
}

#' R's own condition for Ctrl-C; without a handler it returns to top level, as usual in R.
raise_interrupt <- function(message) {
  signalCondition(structure(class = c("tessera_interrupted", "interrupt", "condition"),
                            list(message = message, call = NULL)))
  invokeRestart("abort")
}

usage_error <- function(...) raise_error(2L, paste0(...))
input_error <- function(...) raise_error(3L, paste0(...))
