# SPDX-License-Identifier: Apache-2.0
# Like `model_file.py predict`, in R: SCRIPT FOLDER.
if (!requireNamespace("jsonlite", quietly = TRUE)) {
  cat("R has no jsonlite: nothing is compared\n")
  quit(status = 77)
}
arguments <- commandArgs(TRUE); source(arguments[1]); setwd(arguments[2])
data <- read.csv("new.csv", check.names = FALSE)
code <- match(data$f, c("a", "b", "c"))
computed <- list("log(e)" = log(data$e), "I(x^2)" = data$x^2, "w > 0" = data$w > 0, "I(2 * w)" = 2 * data$w, "factor(d)" = data$d,
                 "f > \"a\"" = code > 1, "f.L" = contr.poly(3)[code, 1], "f.Q" = contr.poly(3)[code, 2])
data[names(computed)] <- computed
faults <- character(0)
for (one in jsonlite::fromJSON("cases.json", simplifyVector = FALSE)) {
  model <- jsonlite::fromJSON(paste0(one$name, ".json"), simplifyVector = FALSE)
  for (type in one$types) {
    expected <- read.csv(paste0(one$name, ".", type, ".csv"))$fit
    found <- tryCatch(predict_model(model, data, type), error = conditionMessage)
    if (is.character(found)) {
      if (one$refused == "" || !grepl(one$refused, found, fixed = TRUE)) faults <- c(faults, paste0(one$name, ", ", type, ": ", found))
      next
    }
    if (one$refused != "" && type == "response") faults <- c(faults, paste0(one$name, ", ", type, ": is not refused"))
    if (length(found) != length(expected)) { faults <- c(faults, paste0(one$name, ", ", type, ": ", length(found), " rows")); next }
    apart <- which(is.na(found) != is.na(expected) | abs(found - expected) > 1e-8 * pmax(1, abs(expected)))
    if (length(apart)) faults <- c(faults, paste0(one$name, ", ", type, ": rows ", toString(apart), ": ", found[apart[1]], " and ", expected[apart[1]]))
  }
}
if (length(faults)) { writeLines(faults, stderr()); quit(status = 1) }
