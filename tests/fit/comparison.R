# SPDX-License-Identifier: Apache-2.0
# How the scripts compare_*.R that take a program and names of models begin: in a folder of their own, with mgcv; they are
# skipped where there is none.
if (!all(vapply(c("mgcv", "jsonlite"), requireNamespace, NA, quietly = TRUE))) {
  cat("R has no mgcv or jsonlite: nothing is compared\n")
  quit(status = 77)
}
suppressMessages({library(mgcv); library(jsonlite)})
program <- normalizePath(commandArgs(TRUE)[1])
only <- commandArgs(TRUE)[-1]
folder <- tempfile(); dir.create(folder); setwd(folder)
