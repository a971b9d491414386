# SPDX-License-Identifier: Apache-2.0
#' Loads a C source of this folder; FALSE where there is no compiler.
load_compiled <- function(source) {
  folder <- tempfile()
  dir.create(folder)
  file.copy(source, folder)
  copy <- file.path(folder, basename(source))
  built <- sub("c$", sub(".", "", .Platform$dynlib.ext, fixed = TRUE), copy)
  output <- suppressWarnings(system2(file.path(R.home("bin"), "R"), c("CMD", "SHLIB", "-o", shQuote(built), shQuote(copy)),
                                     stdout = TRUE, stderr = TRUE))
  if (!file.exists(built)) {
    writeLines(output)
    return(FALSE)
  }
  dyn.load(built)
  TRUE
}
