# SPDX-License-Identifier: Apache-2.0

tessera_bam <- function(formula, data = list(), family = gaussian(), weights = NULL, subset = NULL,
                        na.action = na.omit, offset = NULL, method = "fREML", control = list(), select = FALSE,
                        scale = 0, gamma = 1, knots = NULL, sp = NULL, min.sp = NULL, paraPen = NULL,
                        chunk.size = 10000, rho = 0, AR.start = NULL, discrete = FALSE, cluster = NULL, nthreads = 1,
                        gc.level = 0, use.chol = FALSE, samfrac = 1, coef = NULL, drop.unused.levels = TRUE, G = NULL,
                        fit = TRUE, drop.intercept = NULL, ..., model = TRUE, quiet = FALSE, options = list(),
                        launcher = NULL, program = NULL, workdir = NULL) {
  call <- match.call()
  given <- mget(c("method", "scale", "G", "fit", "drop.intercept", "chunk.size", "discrete", "cluster",
                  "gc.level", "use.chol", "samfrac", "coef"))
  check_arguments(given, quiet, ...)
  if (inherits(data, "family") || is.function(data)) {
    usage_error("data is a ", class(data)[1], ": name the arguments, as in tessera_bam(formula, family = , data = )")
  }
  control <- do.call(mgcv::gam.control, control)
  family <- family_of(family)
  chosen <- c(family_options(family), fit_options(select, gamma, knots, sp, min.sp, paraPen, rho, drop.unused.levels, control),
              if (!missing(nthreads)) thread_option(nthreads, quiet), option_texts(options))
  formula <- checked_formula(formula)
  # Store one row in the model: emmeans takes the means of numbers from it if it gets no data.
  if ((!model || is.character(data) || is_stream(data, model)) && !"sample" %in% names(chosen)) chosen <- c(chosen, sample = "1")
  expressions <- list(weights = substitute(weights), offset = substitute(offset), subset = substitute(subset),
                      AR.start = substitute(AR.start))
  job <- if (!is.null(launcher)) list(launcher = launcher, program = program, workdir = workdir)
  if (is.character(data) && length(data) > 0 || is_stream(data, model)) {
    return(fit_file(formula, data, family, expressions, chosen, job, call, control, quiet))
  }
  fit_frame(formula, rows_of(data), family, expressions, na.action, drop.unused.levels, chosen, job, call, control,
            model, quiet)
}

# Arguments

#' Unknown arguments are errors, except those that are NULL, the default of bam's later ones. Arguments without effect here
#' give a message, unless they have bam's default.
check_arguments <- function(given, quiet, ...) {
  other <- Filter(Negate(is.null), list(...))
  if (length(other)) {
    usage_error("argument ", toString(names(other)), " is not known here: give options of the engine as ",
                "options = list(device = \"cpu\")")
  }
  usual <- formals(tessera_bam)
  is_usual <- function(name) isTRUE(all.equal(given[[name]], eval(usual[[name]])))
  absent <- c(method = "smoothing parameters are estimated by method = \"fREML\"",
              scale = "the family says whether the scale is known or estimated",
              G = "give formula and data", fit = "give formula and data",
              drop.intercept = "write - 1 in the formula")
  if (isFALSE(given$drop.intercept)) given$drop.intercept <- NULL
  for (name in names(absent)) {
    if (!is_usual(name)) usage_error("argument ", name, " is not supported: ", absent[[name]])
  }
  none <- c("chunk.size", "discrete", "cluster", "gc.level", "use.chol", "samfrac", "coef")
  unused <- none[!vapply(none, is_usual, NA)]
  if (length(unused) && !quiet) {
    message(toString(unused), ": no effect here: the fit neither rounds nor samples rows, and chooses the start and ",
            "the blocks itself")
  }
}

fit_options <- function(select, gamma, knots, sp, min.sp, paraPen, rho, drop.unused.levels, control) {
  list_text <- function(name, values) {
    if (length(values)) stats::setNames(paste(number_text(values), collapse = ","), name)
  }
  c(if (isTRUE(select)) c(select = "true"), if (gamma != 1) c(gamma = number_text(gamma)),
    knot_options(knots), list_text("sp", sp), list_text("min-sp", min.sp), penalty_option(paraPen), if (rho != 0) c(rho = number_text(rho)),
    if (!isTRUE(drop.unused.levels)) c("drop-unused-levels" = "false"),
    if (control$maxit != mgcv::gam.control()$maxit) c("max-iterations" = number_text(control$maxit)))
}

#' paraPen as the engine's JSON: of each term its matrices, and rank and sp where they are given.
penalty_option <- function(paraPen) {
  list_of <- function(texts) paste0("[", paste(texts, collapse = ", "), "]")
  of_term <- function(given) {
    if ("L" %in% names(given)) usage_error("paraPen: L is not supported: leave it out")
    is_matrix <- !names(given) %in% c("rank", "sp")
    if (is.null(names(given))) is_matrix <- rep(TRUE, length(given))
    S <- lapply(given[is_matrix], function(S) list_of(apply(as.matrix(S), 1, function(row) list_of(number_text(row)))))
    fields <- c(list(S = list_of(S)), lapply(given[!is_matrix], function(values) list_of(number_text(values))))
    paste0("{", paste0("\"", names(fields), "\": ", fields, collapse = ", "), "}")
  }
  if (!length(paraPen)) return(NULL)
  terms <- gsub("([\"\\\\])", "\\\\\\1", names(paraPen))
  c("para-pen" = paste0("{", paste0("\"", terms, "\": ", lapply(paraPen, of_term), collapse = ", "), "}"))
}

knot_options <- function(knots) {
  knots <- Filter(is.numeric, knots)  # others are districts, which the neighbours name
  texts <- vapply(names(knots), function(name) {
    paste0(name, "=", paste(number_text(as.numeric(knots[[name]])), collapse = ","))
  }, "")
  stats::setNames(texts, rep("knots", length(texts)))
}

#' Without knots of variables that no smooth has, which bam ignores: update() may have dropped the smooth.
with_used_knots <- function(chosen, formula, quiet) {
  given <- ifelse(names(chosen) == "knots", sub("=.*", "", chosen), NA)
  if (all(is.na(given))) return(chosen)
  smooths <- lapply(formula_parts(mgcv::interpret.gam(formula)), `[[`, "smooth.spec")
  is_unused <- !is.na(given) & !given %in% unlist(lapply(unlist(smooths, recursive = FALSE), `[[`, "term"))
  if (any(is_unused) && !quiet) {
    message("knots of ", toString(given[is_unused]), ": no effect, because no smooth has such a variable")
  }
  chosen[!is_unused]
}

#' Knots of a variable that R has evaluated, under the name of the variable's column.
knots_by_column <- function(texts, labels) {
  for (name in names(labels)) {
    is_own <- startsWith(texts, paste0(labels[[name]], "="))
    texts[is_own] <- paste0(name, substring(texts[is_own], nchar(labels[[name]]) + 1))
  }
  texts
}

thread_option <- function(nthreads, quiet) {
  cores <- parallel::detectCores()
  wanted <- max(nthreads)
  if (!is.na(cores) && wanted > cores && !quiet) {
    message("nthreads: only ", cores, " cores are available: the fit uses ", cores, " threads")
  }
  c(threads = number_text(min(wanted, cores, na.rm = TRUE)))
}

#' Options for the engine; names may have "_" or "." in place of "-".
option_texts <- function(options) {
  if (!length(options)) return(character(0))
  texts <- lapply(options, function(value) {
    if (is.logical(value)) tolower(as.character(value)) else if (is.numeric(value)) number_text(value) else value
  })
  stats::setNames(unlist(texts), rep(gsub("[._]", "-", names(options)), lengths(texts)))
}

#' The engine's options for reading the table, and its options for a fit; a job takes both kinds together.
of_table <- function(chosen) chosen[names(chosen) %in% table_options]
of_fit <- function(chosen) chosen[!names(chosen) %in% table_options]
table_options <- c("block-rows", "na-strings", "factor", "numeric", "date", "sep", "dec", "comment", "header", "skip")

#' Describes a table before a fit: see man/tessera_columns.Rd.
tessera_columns <- function(data, columns = NULL, options = list()) {
  chosen <- option_texts(options)
  table <- if (is.character(data)) .Call(C_table_files, path.expand(data), of_table(chosen))
           else if (is_stream(data, FALSE)) table_of_stream(data, of_table(chosen))
           else .Call(C_table_with, Filter(Negate(is.null), lapply(rows_of(data), as_column)), of_table(chosen))
  on.exit(.Call(C_close, table))
  found <- .Call(C_columns, table, as.character(columns), of_fit(chosen))
  keys <- unique(unlist(lapply(found$columns, names)))
  described <- lapply(stats::setNames(keys, keys), function(key) {
    values <- lapply(found$columns, function(one) if (is.null(one[[key]])) NA else one[[key]])
    if (key %in% c("first_levels", "texts")) I(values) else unlist(values)
  })
  structure(as.data.frame(described), rows = found$rows)
}

# Data

arrow_tables <- c("ArrowTabular", "arrow_dplyr_query")

#' Whether the engine reads `data` as an Arrow stream, only once; R then keeps none of the data.
is_stream <- function(data, model) {
  inherits(data, c("RecordBatchReader", "nanoarrow_array_stream")) || !model && inherits(data, arrow_tables)
}

#' The table of an Arrow stream; factors keep the order of their levels.
table_of_stream <- function(data, options) {
  stream <- data
  if (!inherits(data, "nanoarrow_array_stream")) {
    stream <- .Call(C_stream)
    reader <- getExportedValue("arrow", "as_record_batch_reader")(data)
    reader$export_to_c(stream)
  }
  .Call(C_table_stream, stream, c(options, "keep-dictionary-order" = "true"))
}

#' `data` as a frame or list of columns, without copying them.
rows_of <- function(data) {
  if (inherits(data, arrow_tables)) return(as.data.frame(data))
  if (is.list(data)) return(data)
  if (is.environment(data)) return(as.list(data))
  as.data.frame(data)
}

#' The value of an argument, looked up in `data`, then in the formula's environment; NULL if the argument is not given.
evaluated <- function(name, expressions, data, env) {
  expression <- expressions[[name]]
  tryCatch(eval(expression, data, env), error = function(e) input_error(name, ": ", conditionMessage(e)))
}

checked_length <- function(values, name, rows) {
  if (is.null(values)) return(NULL)
  if (is.matrix(values) && ncol(values) == 1) values <- values[, 1]
  if (length(values) != rows) input_error(name, " has ", length(values), " values: give ", rows, ", one a row")
  values
}

#' The rows that `subset` selects: a logical vector, or row numbers if it repeats or reorders rows.
subset_rows <- function(subset, rows, row_names) {
  if (is.null(subset)) return(NULL)
  chosen <- if (is.logical(subset)) rep_len(subset %in% TRUE, rows)
            else if (is.character(subset)) match(subset, row_names)
            else seq_len(rows)[subset]
  if (!any(chosen > 0, na.rm = TRUE)) input_error("subset selects no row: give another condition")
  if (is.logical(chosen)) return(chosen)
  if (anyNA(chosen)) input_error("subset names rows that the data do not have: leave them out")
  if (is.unsorted(chosen, strictly = TRUE)) chosen else seq_len(rows) %in% chosen
}

action_of <- function(na.action) {
  if (is.character(na.action)) na.action <- get(na.action, mode = "function")
  if (is.null(na.action)) na.action <- stats::na.pass
  known <- list(stats::na.omit, stats::na.exclude, stats::na.fail, stats::na.pass)
  if (!any(vapply(known, identical, NA, na.action))) {
    usage_error("na.action: give na.omit, na.exclude, na.fail or na.pass")
  }
  na.action
}

check_missing <- function(na.action, columns, used) {
  if (identical(na.action, stats::na.omit) || identical(na.action, stats::na.exclude)) return(invisible())
  for (name in names(columns)) {
    if (anyNA(if (is.null(used)) columns[[name]] else columns[[name]][used])) {
      input_error("missing values in ", name, ": use na.action = na.omit, which leaves these rows out")
    }
  }
}

#' Columns as a data frame, without copying them.
as_frame <- function(columns, rows, data) {
  automatic <- !is.data.frame(data) || .row_names_info(data) < 0 || .row_names_info(data, 2L) != rows
  structure(columns, class = "data.frame",
            row.names = if (automatic) .set_row_names(rows) else attr(data, "row.names"))
}

# Fits

fit_frame <- function(formula, data, family, expressions, na.action, drop.unused.levels, chosen, job, call, control,
                      model, quiet) {
  if (!is.list(formula)) formula <- expand_dot(formula, data)  # in lists, mgcv has no .
  t <- translate_formula(formula, data)
  check_formula(formula)
  env <- t$env
  if (length(t$unpredicted) && !quiet) {
    message(toString(t$unpredicted), ": predict() finds only functions of base R in smooths, as for bam: ",
            "make a column of it, or write pkg::name(x)")
  }
  frame <- lapply(c(weights = "weights", offset = "offset", ar.start = "AR.start"), function(name) {
    checked_length(evaluated(name, expressions, data, env), name, t$rows)
  })
  if (!is.null(frame$ar.start) && !is.logical(frame$ar.start)) {
    input_error("AR.start is of class ", class(frame$ar.start)[1], ": give TRUE or FALSE for each row")
  }
  frame$subset <- subset_rows(evaluated("subset", expressions, data, env), t$rows, row.names(data))
  frame$na.action <- action_of(na.action)
  frame$drop.unused.levels <- drop.unused.levels
  data <- as_frame(t$read, t$rows, data)
  extra <- frame[c("weights", "offset", "ar.start", "subset")]
  if (t$parametric_by_r || is.integer(frame$subset)) extra <- resolve_rows(t, data, frame)
  if (!"rho" %in% names(chosen)) extra$ar.start <- NULL  # without rho, AR.start has no effect, as in bam
  extra <- extra[lengths(extra) > 0]
  columns <- t$columns[all.vars(str2lang(engine_formula(t)))]
  chosen <- with_used_knots(chosen, t$formula, quiet)
  is_knots <- names(chosen) == "knots"
  chosen[is_knots] <- knots_by_column(chosen[is_knots], t$labels)
  columns[sprintf(".%s.", names(extra))] <- extra
  check_missing(frame$na.action, columns, extra$subset)
  chosen <- c(chosen, stats::setNames(sprintf(".%s.", names(extra)), sub(".", "-", names(extra), fixed = TRUE)))
  labels <- c(t$labels, stats::setNames(names(extra), sprintf(".%s.", names(extra))))
  fitted <- with_names_of_call(labels, {
    table <- .Call(C_table_with, columns, if (is.null(job)) of_table(chosen))
    on.exit(.Call(C_close, table))
    if (is.null(job)) fit_table(engine_formula(t), table, of_fit(chosen), control, quiet)
    else fit_job(engine_formula(t), columns, chosen, job, quiet)
  })
  frame$formula <- formula
  frame$family <- family
  if (model) frame$fitted <- rows_of_fit(fitted, table, chosen, is_general(family))
  if (!model && length(t$labels)) frame$rows <- stand_in_rows(data, frame$subset)  # the model lacks these extents
  object_of(fitted, t$labels, if (model) data, frame, call, control)
}

#' The value of `expression`, whose errors, warnings and messages name columns that R has made as the call does.
with_names_of_call <- function(labels, expression) {
  raised_again_by <- function(raise, restart = NULL) function(condition) {
    condition$message <- with_labels(list(condition$message), labels)[[1]]
    raise(condition)
    if (!is.null(restart)) invokeRestart(restart)
  }
  withCallingHandlers(expression, tessera_error = raised_again_by(stop),
                      warning = raised_again_by(warning, "muffleWarning"),
                      message = raised_again_by(message, "muffleMessage"))
}

#' Values that the engine computes for each row of the table: a frame, with NaN in rows that are not in the fit. Of a
#' `general` family a matrix of the linear predictors.
rows_of_fit <- function(model, table, chosen, general) {
  threads <- chosen[names(chosen) == "threads"]
  if (general) return(.Call(C_predict, model, table, c(type = "link", threads)))
  wanted <- c("fitted", "linear_predictor", "working_weight", "deviance")
  columns <- .Call(C_rows, model, table, c(type = "fit", threads), wanted)
  as_frame(columns, length(columns[[1]]), NULL)
}

#' Keeps only the rows of the fit in the table's columns, if R evaluates the parametric part or if the subset reorders
#' rows. Returns weights and offsets of these rows.
resolve_rows <- function(t, data, frame) {
  parts <- mgcv::interpret.gam(t$formula)
  rows <- seq_len(t$rows)
  if (!is.null(frame$subset)) rows <- rows[frame$subset]
  all <- stats::model.frame(parts$fake.formula, data, na.action = stats::na.pass)
  extra <- Filter(Negate(is.null), frame[c("weights", "offset", "ar.start")])
  everything <- c(all[rows, , drop = FALSE], lapply(extra, `[`, rows))
  is_complete <- stats::complete.cases(as_frame(everything, length(rows), NULL))
  if (!all(is_complete)) check_missing(frame$na.action, everything, NULL)
  rows <- rows[is_complete]
  if (!length(rows)) stop_without_rows_of_fit(everything)
  all <- all[rows, , drop = FALSE]
  if (frame$drop.unused.levels) all[] <- lapply(all, drop_levels)
  t$columns <- lapply(t$columns, `[`, rows)
  if (t$parametric_by_r) {
    for (p in seq_along(t$right)) parametric_by_r(t, p, stats::terms(formula_parts(parts)[[p]]$pf), all)
  }
  lapply(extra, `[`, rows)
}

stop_without_rows_of_fit <- function(variables) {
  missing <- vapply(variables, function(x) sum(!stats::complete.cases(x)), 0)
  missing <- missing[missing > 0]
  input_error("every row lacks the value of some variable (missing: ", toString(paste(missing, "of", names(missing))),
              "): leave out one of these variables, or fill in values")
}

#' Drops the levels of a factor that no row has. Keeps contrasts, unless they are a matrix for all levels.
drop_levels <- function(x) {
  if (!is.factor(x) || all(tabulate(x, nlevels(x)) > 0)) return(x)
  contrasts <- attr(x, "contrasts")
  x <- x[, drop = TRUE]
  if (!is.matrix(contrasts)) attr(x, "contrasts") <- contrasts
  x
}

#' Fits a table in this process.
fit_table <- function(formula, table, chosen, control, quiet) {
  log <- new_log(control, quiet)
  model <- .Call(C_fit, formula, table, chosen, log$tell)
  log$flush()
  for (why in c("no_estimate", "why_not_converged")) {
    text <- .Call(C_texts, model, why)
    if (nzchar(text)) warning(text, call. = FALSE)
  }
  model
}

#' Prints messages of a fit: interactively the current activity; always what has no effect; with trace = TRUE all lines.
new_log <- function(control, quiet) {
  lines <- character(0)
  shows <- interactive() && !quiet
  list(
    tell = function(text, is_line) {
      if (is_line) lines <<- c(lines, text)
      if (if (is_line) isTRUE(control$trace) else shows) message(text)
    },
    flush = function() {
      if (quiet || isTRUE(control$trace)) return(invisible())
      for (line in grep("ha(s|ve) no effect", lines, value = TRUE)) message(line)
    })
}

#' Fits a table in a file or stream: in this process, or in the processes of a job. Arguments are expressions of the
#' table's columns.
fit_file <- function(formula, file, family, expressions, chosen, job, call, control, quiet) {
  if (is.character(file)) file <- path.expand(file)
  else if (!is.null(job)) usage_error("launcher: a job cannot read a stream of Arrow: give a file or a data frame")
  given <- expressions[!vapply(expressions, is.null, NA)]
  texts <- vapply(given, function(one) if (is.character(one)) one else text_of(one), "")
  names(texts) <- sub("AR.start", "ar-start", names(texts), fixed = TRUE)
  check_formula(formula)
  formula <- of_formulas(formula, function(one) {
    one[[length(one)]] <- with_constants(new_translation(list(), environment(one)), one[[length(one)]])
    one
  })
  model <- if (is.null(job)) {
    table <- if (is.character(file)) .Call(C_table_files, file, of_table(chosen))
             else table_of_stream(file, of_table(chosen))
    on.exit(.Call(C_close, table))
    fit_table(text_of(formula), table, c(of_fit(chosen), texts), control, quiet)
  } else {
    run_job(text_of(formula), file, c(chosen, texts), character(0), job, quiet)
  }
  object_of(model, character(0), NULL, list(formula = formula, family = family), call, control)
}

#' A formula with the constant arguments of its smooths evaluated in the formula's environment.
with_constants <- function(t, expression) {
  if (!is.call(expression)) return(expression)
  kind <- smooth_name(expression)
  if (is.null(kind)) {
    expression[-1] <- lapply(as.list(expression)[-1], function(one) with_constants(t, one))
    return(expression)
  }
  is_constant <- names(expression) %in% smooth_arguments[[kind]]
  expression[is_constant] <- lapply(as.list(expression)[is_constant], function(one) constant(t, one))
  expression
}

object_of <- function(model, labels, data, frame, call, control) {
  on.exit(.Call(C_close, model))
  json <- with_labels(.Call(C_json, model), labels)
  json$formula <- text_of(frame$formula)
  gam_object(model, json, data, frame, call, control)
}
