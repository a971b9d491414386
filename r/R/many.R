# SPDX-License-Identifier: Apache-2.0
# One formula, fitted to each of many responses: the rows of a matrix of genes x cells.

#' A GAM of each gene: see man/tessera_many.Rd.
tessera_many <- function(counts, formula = NULL, data = NULL, family = "nb", pseudotime = NULL, cell_weights = NULL,
                         conditions = NULL, U = NULL, offset = NULL, weights = NULL, knots = NULL, nknots = 6,
                         genes = NULL, seed = NULL, covariances = TRUE, sce = TRUE, quiet = FALSE, options = list()) {
  of_formula <- is.null(pseudotime)
  if (of_formula == is.null(formula)) usage_error("give either formula and data, or pseudotime and cell_weights")
  others <- if (of_formula) list(cell_weights = cell_weights, conditions = conditions, U = U)
            else list(data = data, knots = knots)
  others <- names(Filter(Negate(is.null), others))
  if (length(others)) {
    usage_error("argument ", toString(others), " does not go with ",
                if (of_formula) "formula: write terms" else "pseudotime: leave it out, or give a formula")
  }
  given <- counts
  counts <- counts_of(given)
  cells <- list(count = ncol(counts), genes = nrow(counts), names = colnames(counts))
  chosen <- chosen_genes(genes, counts)
  family <- many_family(family)
  if (of_formula && is.null(data) && is_experiment(given)) data <- columns_of_experiment(given)
  model <- if (of_formula) {
    model_of_formula(formula, data, knots, offset, cells)
  } else {
    model_of_lineages(counts, cells, family, pseudotime, cell_weights, conditions, U, offset, nknots, seed, quiet)
  }
  if (is_table(weights)) {
    model$weights <- of_cells(weights, "weights", cells, of_genes = TRUE)
  } else if (!is.null(weights)) {
    model$columns$.weights. <- as.numeric(of_cells(weights, "weights", cells))
  }
  names <- if (is.null(rownames(counts))) as.character(seq_len(cells$genes)) else rownames(counts)
  matrices <- lapply(list(counts, model$weights, model$offsets), function(matrix) {
    if (!is.null(matrix)) in_place(if (is.null(chosen)) matrix else matrix[chosen, , drop = FALSE])
  })
  matrices[[1]][[6]] <- if (is.null(chosen)) names else names[chosen]
  texts <- c(family = family, "responses-in" = "rows", if (covariances) c(covariances = "true"),
             if (!is.null(model$columns$.weights.)) c(weights = ".weights."), knot_options(model$knots),
             option_texts(options))
  table <- .Call(C_table_with, model$columns, of_table(texts))
  on.exit(.Call(C_close, table))
  log <- new_log(list(), quiet)
  fitted <- advising_counts(.Call(C_fit_many, model$formula, table, matrices, of_fit(texts), log$tell))
  log$flush()
  many <- many_frame(fitted, model$formula, family, covariances)
  if (of_formula || !covariances || !sce) return(many)
  if (!requireNamespace("SingleCellExperiment", quietly = TRUE)) {
    if (!quiet) message("SingleCellExperiment is not installed: the result is a data frame")
    return(many)
  }
  experiment_of(many, model, table, given, counts, chosen)
}

# Arguments

is_experiment <- function(x) methods::is(x, "SummarizedExperiment")

is_table <- function(x) length(dim(x)) == 2

#' The counts as a matrix that the library reads in place: of numbers, or compressed by columns or rows.
counts_of <- function(counts) {
  if (is_experiment(counts)) {
    known <- SummarizedExperiment::assayNames(counts)
    if (!"counts" %in% known) {
      input_error("counts has no assay \"counts\", but ", toString(dQuote(known, FALSE)), ": name one of them so, or ",
                  "give assay(counts, ...)")
    }
    counts <- SummarizedExperiment::assay(counts, "counts")
  }
  if (inherits(counts, "dgRMatrix")) return(checked_names(counts))
  if (methods::is(counts, "sparseMatrix")) {
    return(checked_names(methods::as(methods::as(methods::as(counts, "dMatrix"), "generalMatrix"), "CsparseMatrix")))
  }
  if (is_table(counts) && !is.matrix(counts)) counts <- as.matrix(counts)
  if (!is.matrix(counts) || !(is.numeric(counts) || is.logical(counts))) {
    usage_error("counts is ", if (is.matrix(counts)) paste("a matrix of", typeof(counts)) else class(counts)[1],
                ": give a matrix of numbers, genes x cells, or a SummarizedExperiment")
  }
  checked_names(counts)
}

#' The columns of the cells that are vectors, as a data frame.
columns_of_experiment <- function(experiment) {
  columns <- as.list(SummarizedExperiment::colData(experiment))
  as.data.frame(Filter(function(x) is.atomic(x) && is.null(dim(x)), columns), optional = TRUE)
}

checked_names <- function(counts) {
  if (anyDuplicated(rownames(counts))) {
    input_error("counts has several genes '", rownames(counts)[anyDuplicated(rownames(counts))],
                "': give each a name of its own, as by make.unique()")
  }
  counts
}

#' The rows of these genes, names or numbers; NULL: all.
chosen_genes <- function(genes, counts) {
  if (is.null(genes)) return(NULL)
  places <- if (is.character(genes)) match(genes, rownames(counts)) else seq_len(nrow(counts))[genes]
  if (anyNA(places)) input_error("genes: counts has no gene '", genes[is.na(places)][1], "'")
  if (!length(places)) input_error("genes selects no gene of counts: give names or numbers of rows")
  if (anyDuplicated(places)) input_error("genes has '", genes[anyDuplicated(places)], "' twice: give each once")
  places
}

#' Values of the cells, one or a row for each, in the order of `cells`; `of_genes`: a matrix of genes x cells.
of_cells <- function(values, what, cells, of_genes = FALSE) {
  if (of_genes && nrow(values) != cells$genes) {
    input_error(what, " has ", nrow(values), " rows, but counts has ", cells$genes, " genes: give genes x cells")
  }
  rows <- if (of_genes) ncol(values) else NROW(values)
  if (rows != cells$count) {
    input_error(what, " has ", rows, if (of_genes) " columns" else if (is_table(values)) " rows" else " values",
                ", but counts has ", cells$count, " cells: ",
                if (rows == cells$genes) "if its rows are cells, give t(counts)" else "give one for each")
  }
  own <- if (of_genes) colnames(values) else if (!is_table(values)) names(values)
         else if (!is.data.frame(values) || is.character(attr(values, "row.names"))) rownames(values)
  is_number <- identical(own, as.character(seq_len(rows)))  # as of model.matrix()
  if (is.null(own) || is_number || is.null(cells$names) || identical(own, cells$names)) return(values)
  places <- match(cells$names, own)
  if (anyNA(places)) {
    input_error(what, " has no cell '", cells$names[is.na(places)][1], "', which counts has (", sum(is.na(places)),
                " of ", cells$count, " are missing): give the same names in both, or none in one of them")
  }
  if (of_genes) values[, places, drop = FALSE]
  else if (is_table(values)) values[places, , drop = FALSE]
  else values[places]
}

#' The engine's text of a family, which has its default link for many models.
many_family <- function(family) {
  if (is.character(family)) return(family)
  options <- family_options(family_of(family))
  usual <- c(nb = "log", poisson = "log", quasipoisson = "log", Gamma = "log", binomial = "logit",
             quasibinomial = "logit", gaussian = "identity")
  link <- usual[sub("\\(.*", "", options[["family"]])]
  if (!is.na(link) && link != options[["link"]]) {
    usage_error("family ", options[["family"]], ": the link of many models is ", link, ", not ", options[["link"]])
  }
  options[["family"]]
}

#' The model of a formula without a response: the columns that it reads, and its text.
model_of_formula <- function(formula, data, knots, offset, cells) {
  if (is.character(formula)) formula <- stats::as.formula(formula, parent.frame(2))
  if (!inherits(formula, "formula") || length(formula) != 2) {
    usage_error("formula has no response, because each gene is one: write ~ s(x)")
  }
  if (!is.null(offset) && !is_table(offset)) {
    usage_error("offset: give a matrix of genes x cells; an offset of all genes is a term, as offset(log(size))")
  }
  env <- environment(formula)
  if (!is.null(data)) data <- of_cells(as.data.frame(rows_of(data), optional = TRUE), "data", cells)
  right <- with_constants(new_translation(list(), env), formula[[2]])
  columns <- sapply(all.vars(right), function(name) {
    value <- if (name %in% names(data)) data[[name]] else get0(name, env)
    if (is.null(value) || is.function(value)) input_error("formula: data has no column '", name, "': add it")
    column <- as_column(of_cells(value, name, cells))
    if (is.null(column)) {
      input_error("formula: '", name, "' is of class ", class(value)[1], ": give a number or level for each cell")
    }
    column
  }, simplify = FALSE)
  list(columns = columns, formula = text_of(right), knots = knots,
       offsets = if (!is.null(offset)) of_cells(offset, "offset", cells, of_genes = TRUE))
}

#' A matrix as tessera.c reads it.
in_place <- function(matrix) {
  if (inherits(matrix, "dgRMatrix")) return(list(matrix@x, matrix@Dim, 1L, matrix@j, matrix@p, rownames(matrix)))
  if (is.matrix(matrix)) {
    if (!is.double(matrix) && anyNA(matrix)) storage.mode(matrix) <- "double"  # the library takes integers as they are
    return(list(matrix, dim(matrix), 0L, NULL, NULL, rownames(matrix)))
  }
  matrix <- methods::as(matrix, "CsparseMatrix")
  list(matrix@x, matrix@Dim, 2L, matrix@i, matrix@p, rownames(matrix))
}

#' The value of `expression`; an error of numbers that are no counts says which ones to give.
advising_counts <- function(expression) {
  withCallingHandlers(expression, tessera_input = function(condition) {
    if (!grepl("is not a count", condition$message)) return()
    condition$message <- paste0(condition$message, ": give raw counts, not normalised or logarithms of them")
    stop(condition)
  })
}

# Results

#' The columns of fits and tests as a frame, which with covariances keeps the models of the responses.
many_frame <- function(fitted, formula, family, covariances) {
  columns <- c(fitted[[2]], fitted[[3]][-1])
  structure(columns, class = c("tessera_many", "data.frame"), row.names = columns$response,
            tessera = list(fits = if (covariances) fitted[[1]], formula = formula, family = family))
}

#' The fits of a frame of tessera_many, or of an experiment that has one.
fits_of <- function(many) {
  if (is_experiment(many)) many <- S4Vectors::metadata(many)$tessera
  fits <- attr(many, "tessera")$fits
  if (is.null(fits)) usage_error("there are no models: give the result of tessera_many(covariances = TRUE)")
  fits
}

#' Rows keep their models; some of the columns are a plain frame.
`[.tessera_many` <- function(x, ...) {
  found <- NextMethod()
  if (is.data.frame(found) && !identical(names(found), names(x))) class(found) <- "data.frame"
  found
}

#' The model of a response as an object of mgcv.
tessera_model <- function(many, response) {
  model <- .Call(C_many_model, fits_of(many), as.character(response))
  on.exit(.Call(C_close, model))
  json <- .Call(C_json, model)
  object <- gam_object(model, json, NULL, NULL, match.call(), mgcv::gam.control())
  names(object$gcv.ubre) <- object$method <- "REML"
  object
}

#' Tests of the curves of each response, those of tradeSeq's functions, or their values.
tessera_curves <- function(many, test = c("association", "start-vs-end", "diff-end", "pattern", "condition", "values"), ...,
                           contrasts = NULL) {
  test <- match.arg(test)
  options <- c(if (test != "values") c(test = test), if (!is.null(contrasts)) c(contrasts = contrast_text(contrasts)),
               option_texts(list(...)))
  columns <- .Call(C_many_curves, fits_of(many), test == "values", options)
  structure(columns, class = "data.frame", row.names = columns$response)
}

#' Contrasts by the name of their test, matrices of coefficients x contrasts or weights by name, as the engine's JSON.
contrast_text <- function(tests) {
  object <- function(names, texts) paste0("{", paste0(encodeString(names, quote = "\""), ": ", texts, collapse = ", "), "}")
  of_test <- function(L) {
    L <- as.matrix(L)
    if (is.null(rownames(L))) usage_error("contrasts have no row names: name the coefficients")
    of_contrast <- function(weights) object(rownames(L)[weights != 0], number_text(weights[weights != 0]))
    paste0("[", paste(apply(L, 2, of_contrast), collapse = ", "), "]")
  }
  if (!is.list(tests) || is.null(names(tests))) usage_error("contrasts are no named list: give list(late = L)")
  object(names(tests), vapply(tests, of_test, ""))
}

#' Coefficients, a row for each response.
coef.tessera_many <- function(object, ...) {
  errors <- grep("^se:", names(object))
  coefficients <- unclass(object)[errors - length(errors)]
  array(unlist(coefficients), c(nrow(object), length(errors)), list(object$response, names(coefficients)))
}

counted_ends <- function(status) {
  counts <- sort(table(status), decreasing = TRUE)
  sprintf("%d responses: %s", length(status), toString(paste(counts, names(counts))))
}

print.tessera_many <- function(x, ...) {
  model <- attr(x, "tessera")
  cat(counted_ends(x$status), "\n", if (!is.null(model)) paste0(model$family, ", ~ ", model$formula, "\n"), sep = "")
  shown <- c("status", "limits", "mean", "edf", intersect(c("theta", "scale"), names(x)),
             grep("^q:", names(x), value = TRUE))
  shown <- shown[!vapply(unclass(x)[shown], function(one) all(is.na(one)), NA)]
  print(utils::head(as.data.frame(unclass(x)[shown], row.names = x$response, optional = TRUE), 6), ...)
  if (nrow(x) > 6) cat("... and columns ", toString(setdiff(names(x), c(shown, "response"))[1:6]), ", ...\n", sep = "")
  invisible(x)
}

#' How fits have ended, at which limits, and of how many responses each term has an adjusted p value below `level`.
summary.tessera_many <- function(object, level = 0.05, ...) {
  q <- unclass(object)[grep("^q:", names(object))]
  terms <- data.frame(responses = vapply(q, function(one) sum(!is.na(one)), 0L),
                      below = vapply(q, function(one) sum(one < level, na.rm = TRUE), 0L),
                      row.names = sub("^q:", "", names(q)))
  structure(list(status = table(object$status), limits = table(object$limits), terms = terms, level = level),
            class = "summary.tessera_many")
}

print.summary.tessera_many <- function(x, ...) {
  cat(counted_ends(rep(names(x$status), x$status)), "\nLimits: ", toString(paste(x$limits, names(x$limits))),
      "\nResponses with an adjusted p value, and those below ", x$level, ":\n", sep = "")
  print(x$terms)
  invisible(x)
}
