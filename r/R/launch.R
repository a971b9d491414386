# SPDX-License-Identifier: Apache-2.0
# Fits by tessera-fit under an MPI launcher, on the nodes of a batch job.

#' The path of tessera-fit: `program`, $TESSERA_FIT, or from PATH. Its version must be the library's.
program_path <- function(program) {
  given <- c(program, getOption("tessera.program"), Sys.getenv("TESSERA_FIT"), Sys.which("tessera-fit"))
  path <- given[nzchar(given)][1]
  if (is.na(path)) {
    usage_error("launcher needs tessera-fit: install it, and name it by program =, TESSERA_FIT or PATH")
  }
  told <- tryCatch(suppressWarnings(system2(path, "--version", stdout = TRUE, stderr = FALSE)),
                   error = function(e) character(0))
  if (!length(told)) usage_error(path, " cannot be run: name tessera-fit by program =, TESSERA_FIT or PATH")
  version <- sub(".* ", "", told[1])
  known <- .Call(C_version)[1]
  if (version != known) {
    usage_error(path, " is version ", version, ", but the library of this package is ", known,
                ": install the same version of both")
  }
  path
}

#' Fits columns in a job, which reads them as CSV, with the levels of factors in separate files.
fit_job <- function(formula, columns, chosen, job, quiet) {
  folder <- job_folder(job)
  on.exit(unlink(folder, recursive = TRUE))
  is_leveled <- vapply(columns, is.factor, NA)
  missing <- missing_text(columns[is_leveled])
  table <- file.path(folder, "table.csv")
  write_table(columns, missing, table)
  levels <- level_arguments(columns[is_leveled], folder)
  run_job(formula, table, c(chosen, "na-strings" = missing), levels, job, quiet)
}

job_folder <- function(job) {
  folder <- tempfile("tessera-", if (is.null(job$workdir)) getwd() else job$workdir)
  if (!dir.create(folder, showWarnings = FALSE, mode = "0700")) {
    usage_error(folder, " cannot be created: name a folder that all nodes can access, by workdir =")
  }
  folder
}

#' The field that means a missing value: a text that is no level.
missing_text <- function(factors) {
  text <- "NA"
  while (any(vapply(factors, function(x) text %in% levels(x), NA))) text <- paste0(text, "_")
  text
}

quoted <- function(texts) paste0("\"", gsub("\"", "\"\"", enc2utf8(texts), fixed = TRUE), "\"")

#' Writes numbers with enough digits to read back the same bits.
write_table <- function(columns, missing, path) {
  fields <- lapply(columns, function(x) {
    if (is.factor(x)) return(c(quoted(levels(x)), missing)[ifelse(is.na(x), nlevels(x) + 1L, as.integer(x))])
    if (is.logical(x)) return(ifelse(is.na(x), missing, as.character(x)))
    ifelse(is.na(x), missing, if (is.integer(x)) as.character(x) else sprintf("%.17g", as.numeric(x)))
  })
  file <- file(path, "wb")
  on.exit(close(file))
  header <- paste(quoted(names(columns)), collapse = ",")
  writeLines(c(header, do.call(paste, c(unname(fields), sep = ","))), file, useBytes = TRUE)
}

#' Writes levels to files, because a command line has no space for many levels.
level_arguments <- function(factors, folder) {
  vapply(names(factors), function(name) {
    x <- factors[[name]]
    path <- file.path(folder, paste0("levels", match(name, names(factors))))
    text <- paste0(quoted(name), "=", paste(quoted(levels(x)), collapse = ","))
    writeBin(charToRaw(text), path)
    sprintf("--%s=@%s", if (is.ordered(x)) "ordered" else "levels", path)
  }, "", USE.NAMES = FALSE)
}

#' Runs tessera-fit on a table and returns the model that it has written.
run_job <- function(formula, table, chosen, more, job, quiet) {
  program <- program_path(job$program)
  folder <- job_folder(job)
  on.exit(unlink(folder, recursive = TRUE))
  path <- file.path(folder, "model.json")
  arguments <- c("fit", paste0("--formula=", formula), paste0("--out=", path), option_arguments(chosen), more, "--",
                 table)
  told <- run_command(paste(job$launcher, paste(shQuote(c(program, arguments)), collapse = " ")), quiet)
  if (told$status == 0 || (told$status == 4 && file.exists(path))) {
    model <- .Call(C_load, path)
    if (told$status == 4) warning(told$message, call. = FALSE)
    return(model)
  }
  if (told$status == 127) usage_error(job$launcher, ": cannot be run: ", told$message, ": correct launcher =")
  raise_error(told$status, if (nzchar(told$message)) told$message
                           else paste0(job$launcher, ": tessera-fit has ended with status ", told$status))
}

option_arguments <- function(chosen) {
  is_switch <- names(chosen) %in% c("select", "allow-sharing")
  chosen <- chosen[!is_switch | chosen == "true"]
  ifelse(names(chosen) %in% c("select", "allow-sharing"), paste0("--", names(chosen)),
         paste0("--", names(chosen), "=", chosen))
}

#' Runs a shell command; its standard error becomes messages. An interrupt ends the command.
run_command <- function(command, quiet) {
  marked <- paste0("echo $$; exec 3>&1 >/dev/null 2>&3; exec ", command)
  process <- pipe(paste("exec", "sh", "-c", shQuote(marked)), "r")
  pid <- as.integer(readLines(process, 1))
  is_over <- FALSE
  on.exit(if (!is_over) {
    tools::pskill(pid)
    close(process)
  })
  lines <- character(0)
  while (length(line <- readLines(process, 1))) {
    lines <- c(lines, line)
    if (!quiet && interactive()) message(line)
  }
  is_over <- TRUE
  status <- close(process)
  list(status = status_of(status), message = last_message(lines))
}

#' The error in a job's output: the last line of tessera-fit or, for a refused formula, all faults together.
last_message <- function(lines) {
  own <- sub("^tessera-fit: ", "", grep("^tessera-fit: ", lines, value = TRUE))
  faults <- grep("^formula, character", own, value = TRUE)
  if (length(faults)) return(paste0("formula, ", paste(sub("^formula, ", "", faults), collapse = "; ")))
  c(own, lines, "")[max(1, length(own))]
}

#' The exit status in the result of pclose().
status_of <- function(status) {
  if (is.null(status)) return(0L)
  if (status >= 256) status <- status %/% 256
  if (status %in% c(128 + 2, 128 + 15)) 75L else as.integer(status)
}
