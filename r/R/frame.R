# SPDX-License-Identifier: Apache-2.0
# Model frames: the rows of the fit, or stand-in rows with the extents and levels of the variables.

#' The object's slots for terms and variables, computed from some rows, and for each of its coefficients the `names` and
#' `places`, the index in the model; NA if the engine has dropped the column as linearly dependent.
parametric_slots <- function(parts, json, rows, data) {
  each <- lapply(seq_along(formula_parts(parts)), parametric_part, parts, json, rows)
  of_each <- function(slot) lapply(each, `[[`, slot)
  slots <- if (is.null(parts$nlp)) {
    each[[1]][c("pterms", "assign", "contrasts", "xlevels", "nsdf")]
  } else {
    list(pterms = global(structure(of_each("pterms"), term.labels = unlist(of_each("labels")))),
         assign = of_each("assign"), contrasts = do.call(c, of_each("contrasts")), xlevels = of_each("xlevels"),
         nsdf = structure(unlist(of_each("nsdf")), pstart = cumsum(c(1, lengths(of_each("places"))))[seq_along(each)]))
  }
  slots$pred.formula <- global(parts$pred.formula)
  attr(slots$pred.formula, "full") <- global(stats::reformulate(all.vars(parts$fake.formula)))
  slots$var.summary <- variable_summary(parts, json, rows, data)
  list(slots = Filter(Negate(is.null), slots), places = unlist(of_each("places")), names = unlist(of_each("names")),
       predictor = rep(seq_along(each), lengths(of_each("places"))))
}

#' The parts of each formula, as interpret.gam makes them.
formula_parts <- function(parts) if (is.null(parts$nlp)) list(parts) else unclass(parts)[names(parts) == ""]

#' The same of one formula, whose names have its suffix.
parametric_part <- function(predictor, parts, json, rows) {
  frame <- evaluated_frame(formula_parts(parts)[[predictor]]$pf, rows, json)
  pterms <- attr(frame, "terms")
  suffixed <- function(names) sprintf("%s%s", names, if (predictor > 1) paste0(".", predictor - 1) else "")
  blocks <- json$design$blocks
  of_terms <- json$design$predictors
  is_own <- if (is.null(of_terms)) TRUE else of_terms[field(blocks, "term") + 1] == predictor - 1
  block_of <- rep(seq_along(blocks), lengths(lapply(blocks, `[[`, "names")))
  all_names <- unlist(lapply(blocks, function(block) texts(block$names)))
  is_parametric <- (is_own & !is_smooth(blocks))[block_of]
  X <- stats::model.matrix(pterms, frame, contrasts.arg = contrasts_of(frame, pterms))
  names <- all_names[is_parametric]
  # The contrasts may be those of the session.
  if (!all(plain(names) %in% plain(suffixed(colnames(X))))) X <- stats::model.matrix(pterms, frame)
  columns <- suffixed(colnames(X))
  places <- which(is_parametric)[match(plain(columns), plain(names))]
  left_out <- columns[is.na(places)]
  if (!all(plain(names) %in% plain(columns)) || !all(plain(left_out) %in% plain(texts(json$design$left_out)))) {
    input_error("the model has the parametric coefficients ", toString(names), ", but R makes ", toString(columns),
                " of its formula: set options(contrasts = ) as in the fit")
  }
  of_smooths <- which((is_own & is_smooth(blocks))[block_of])
  list(pterms = global(pterms), assign = attr(X, "assign"), contrasts = attr(X, "contrasts"),
       xlevels = stats::.getXlevels(pterms, frame), nsdf = ncol(X), places = c(places, of_smooths),
       names = c(columns, all_names[of_smooths]), labels = suffixed(attr(pterms, "term.labels")))
}

#' A formula, or a list of formulas, without an environment of its own.
global <- function(formula) {
  if (is.list(formula)) formula[] <- lapply(formula, global)
  environment(formula) <- globalenv()
  formula
}

#' The model frame of a formula. Expressions that depend on all rows, such as poly(x, 2), use values of the fit.
evaluated_frame <- function(formula, rows, json, ...) {
  with_design_levels(stats::model.frame(fitted_terms(formula, json), rows, ...), json)
}

fitted_terms <- function(formula, json) {
  terms <- stats::terms(formula)
  attr(terms, "predvars") <- as_fitted(attr(terms, "variables"), json$expressions$measured)
  terms
}

#' The frame with the model's levels in its factors.
with_design_levels <- function(frame, json) {
  levels <- design_levels(json)
  for (name in names(frame)) {
    own <- levels[plain(names(levels)) == plain(name)]
    if (!length(own)) next
    if (is.factor(frame[[name]])) frame[[name]] <- with_levels(frame[[name]], own[[1]])
    if (is.character(frame[[name]])) frame[[name]] <- factor(frame[[name]], levels = own[[1]])
  }
  frame
}

#' A factor with these levels, computed without a text for each row.
with_levels <- function(x, levels) {
  if (identical(levels(x), levels)) return(x)
  of_codes <- match(levels(x), levels)
  contrasts <- attr(x, "contrasts")
  x <- structure(of_codes[as.integer(x)], levels = levels, class = class(x))
  if (!is.null(contrasts)) attr(x, "contrasts") <- contrasts
  x
}

#' An expression in which calls that depend on all rows get the fit's values as arguments.
as_fitted <- function(expression, measured) {
  if (!is.call(expression)) return(expression)
  own <- Find(function(one) identical(plain(one$call), plain(deparse1(expression))), measured)
  expression[-1] <- lapply(as.list(expression)[-1], as_fitted, measured)
  if (is.null(own)) return(expression)
  name <- sub(".*::", "", deparse1(expression[[1]]))
  values <- numbers(own$values)
  switch(name, poly = fitted_poly(expression, values), scale = fitted_scale(expression, values),
         cut = fitted_cut(expression, values), ns = , bs = fitted_spline(expression, values, name), expression)
}

fitted_poly <- function(call, values) {
  call <- match.call(stats::poly, call)
  degree <- (length(values) - 1) / 2
  call$coefs <- list(alpha = values[seq_len(degree)], norm2 = c(1, values[-seq_len(degree)]))
  call
}

fitted_scale <- function(call, values) {
  call <- match.call(base::scale, call)
  centred <- !identical(call$center, FALSE)
  if (centred) call$center <- values[1]
  if (!identical(call$scale, FALSE)) call$scale <- if (centred) values[2] else values[3]
  call
}

fitted_cut <- function(call, values) {
  matched <- match.call(base::cut.default, call)
  count <- eval(matched$breaks, baseenv())
  if (length(count) != 1) return(call)
  breaks <- seq(values[1], values[2], length.out = count + 1)
  margin <- (values[2] - values[1]) / 1000
  breaks[c(1, count + 1)] <- c(values[1] - margin, values[2] + margin)
  matched$breaks <- breaks
  matched
}

fitted_spline <- function(call, values, name) {
  call <- match.call(getExportedValue("splines", name), call)
  call[[1]] <- str2lang(paste0("splines::", name))
  call$df <- NULL
  call$Boundary.knots <- values[1:2]
  call$knots <- values[-(1:2)]
  call
}

#' The contrasts of the fit, even if the session now has others.
contrasts_of <- function(frame, terms) {
  is_coded <- vapply(frame, function(x) is.factor(x) || is.logical(x) || is.character(x), NA)
  if (!any(is_coded)) return(NULL)
  used <- intersect(names(frame)[is_coded], names(which(rowSums(as.matrix(attr(terms, "factors"))) > 0)))
  if (!length(used)) return(NULL)
  lapply(frame[used], function(x) if (is.ordered(x)) "contr.poly" else "contr.treatment")
}

#' The names of the variables on the right-hand side of a formula.
predictors <- function(parts) setdiff(all.vars(parts$fake.formula[-2]), ".")

#' mgcv's var.summary from the model; from the table for variables in expressions evaluated by R.
variable_summary <- function(parts, json, rows, data) {
  types <- variable_types(json)
  summary <- sapply(predictors(parts), function(name) {
    own <- extent_of(name, json)
    if (is.null(own)) return(if (is.null(data)) attr(rows, "summary")[[name]] else summary_of(data[[name]]))
    if (is.null(own$level)) return(own$values)
    factor(own$level, levels = types[[name]]$levels, ordered = isTRUE(types[[name]]$ordered))
  }, simplify = FALSE)
  Filter(Negate(is.null), summary)  # constants of the formula have no summary
}

#' The extent of a column: for numbers `values`, their smallest, typical and largest; for factors a typical `level`.
extent_of <- function(name, json) {
  known <- json$outline$var_summary
  own <- Find(function(one) plain(one$name) == plain(name), known)
  if (!is.null(own)) return(list(values = numbers(own$values), level = own$level))
  # If the formula has a number only as factor(x), the extent is that of the levels.
  as_factor <- plain(sprintf(c("factor(%s)", "as.factor(%s)", "ordered(%s)", "as.ordered(%s)"), plain(name)))
  own <- Find(function(one) plain(one$name) %in% as_factor, known)
  levels <- design_levels(json)
  values <- suppressWarnings(as.numeric(unlist(levels[plain(names(levels)) %in% as_factor])))
  if (!is.null(own) && !anyNA(values)) list(values = c(min(values), as.numeric(own$level), max(values)), among = values)
}

#' Types for each column that is a factor: its levels, and whether it is ordered.
variable_types <- function(json) {
  types <- list()
  for (one in c(json$design$variables, json$expressions$columns, list(json[["response"]]))) {
    if (is.null(one$levels)) next
    name <- gsub("^`|`$", "", one$name)
    types[[name]] <- list(levels = texts(one$levels), ordered = isTRUE(one$ordered) || isTRUE(types[[name]]$ordered))
  }
  types
}

stand_in_variables <- function(parts, json) {
  types <- variable_types(json)
  known <- sapply(predictors(parts), function(name) {
    if (!is.null(type <- types[[name]])) return(factor(type$levels, levels = type$levels, ordered = type$ordered))
    own <- extent_of(name, json)
    if (is.null(own)) usage_error("the model does not store the range of ", name, ": give data = , or fit it again")
    if (is.null(own$among)) own$values else own$among
  }, simplify = FALSE)
  others <- setdiff(all.vars(parts$fake.formula), names(known))
  columns <- c(known, sapply(others, function(name) response_values(json), simplify = FALSE))
  as.data.frame(lapply(columns, rep_len, max(lengths(columns), 5)), optional = TRUE)
}

#' Some response values that are valid for the family.
response_values <- function(json) {
  response <- json[["response"]]
  if (!identical(response$type, "factor")) return(c(0.5, 0.25))
  factor(texts(response$levels), levels = texts(response$levels))
}

#' The model frame of the rows stored by the fit's option `sample`; NULL if there are none, or if R has evaluated
#' variables of these rows.
sample_frame <- function(parts, json) {
  columns <- json[["sample"]]$columns
  if (length(json[["sample"]]$rows) < 2) return(NULL)
  values <- lapply(columns, function(one) {
    if (is.null(one$levels)) return(numbers(one$values))
    factor(texts(one$levels)[numbers(one$values) + 1], levels = texts(one$levels))
  })
  names(values) <- gsub("^`|`$", "", texts(field(columns, "name")))
  rows <- conform(as.data.frame(values, optional = TRUE), json)
  own <- setdiff(all.vars(parts$fake.formula), names(rows))
  json$subset <- NULL  # the fit has already applied it
  if (all(vapply(own, exists, NA, globalenv()))) model_frame(parts, json, rows, call_vectors(json, rows))
}

#' Some rows of a table with the extremes of each number and all levels of factors, and mgcv's var.summary of columns.
stand_in_rows <- function(data, among = NULL) {
  complete <- complete_rows(data, among)
  structure(extreme_rows(data, complete), summary = lapply(data, function(x) summary_of(of_rows(x, complete))))
}

#' A variable, or a matrix, of these rows; NULL: of all.
of_rows <- function(x, rows) {
  if (is.null(rows)) x else if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]
}

#' The rows of `among` without missing values; NULL: all rows.
complete_rows <- function(data, among) {
  if (any(vapply(data, anyNA, NA))) {
    complete <- stats::complete.cases(data)
    return(if (is.numeric(among)) among[complete[among]] else which(if (is.null(among)) complete else among & complete))
  }
  if (is.logical(among)) which(among) else among
}

extreme_rows <- function(data, complete) {
  extremes <- function(x) {
    if (is.matrix(x)) unlist(lapply(seq_len(ncol(x)), function(j) extremes(x[, j])))
    else if (is.factor(x)) first_places(seq_len(nlevels(x)), as.integer(x))
    else if (is.numeric(unclass(x))) c(which.min(x), which.max(x))
    else if (is.logical(x)) first_places(c(FALSE, TRUE), x)
    else which(!duplicated(x))
  }
  found <- unlist(lapply(data, function(x) extremes(of_rows(x, complete))))
  rows <- sort(unique(c(found, seq_len(min(5, if (is.null(complete)) nrow(data) else length(complete))))))
  data[if (is.null(complete)) rows else complete[rows], , drop = FALSE]
}

#' The first position of each value in `x`. Most are near the start, which avoids a search of all of `x`.
first_places <- function(values, x) {
  places <- match(values, utils::head(x, 10000))
  if (anyNA(places) && length(x) > 10000) places[is.na(places)] <- match(values[is.na(places)], x)
  places[!is.na(places)]
}

summary_of <- function(x) {
  if (!is.atomic(x)) return(NULL)  # as d of d$x
  # Of a matrix, one value a column, as of bam.
  if (is.matrix(x)) return(matrix(apply(x, 2, stats::quantile, 0.5, na.rm = TRUE, type = 3), 1))
  x <- x[!is.na(x)]
  if (!length(x)) return(NULL)
  if (is.character(x) || is.factor(x)) {
    x <- as.factor(x)
    factor(levels(x)[which.max(tabulate(x, nlevels(x)))], levels = levels(x), ordered = is.ordered(x))
  } else {
    unname(c(min(as.numeric(x)), stats::quantile(as.numeric(x), 0.5, type = 3), max(as.numeric(x))))
  }
}

#' The table's columns as in the fit: factors have the model's levels, in the model's order.
conform <- function(data, json) {
  types <- variable_types(json)
  for (name in intersect(names(data), names(types))) {
    x <- data[[name]]
    if (is.logical(x) || identical(levels(x), types[[name]]$levels)) next
    data[[name]] <- if (is.factor(x)) with_levels(x, types[[name]]$levels)
                    else factor(as.character(x), levels = types[[name]]$levels, ordered = types[[name]]$ordered)
  }
  data
}

#' The model frame of the rows of the fit, with (weights), (offset) and (AR.start), like bam's. Columns without missing
#' values are shared with the table, not copied by na.omit.
model_frame <- function(parts, json, data, frame) {
  extra <- list(weights = frame$weights, offset = frame$offset, AR.start = frame$ar.start, subset = frame$subset,
                na.action = stats::na.pass)
  all <- do.call(stats::model.frame, c(list(fitted_terms(parts$fake.formula, json), data),
                                       Filter(Negate(is.null), extra)))
  if (any(vapply(all, anyNA, NA))) {
    all <- if (is.null(frame$na.action)) stats::na.omit(all) else frame$na.action(all)
  }
  if (!isFALSE(frame$drop.unused.levels)) all[] <- lapply(all, drop_levels)
  all <- with_design_levels(all, json)
  attr(all, "terms") <- global(attr(all, "terms"))
  all
}

#' The vectors in the arguments of a tessera-fit call, evaluated in a table.
call_vectors <- function(json, data) {
  of <- function(name) {
    text <- json[[name]]
    if (!is.character(text) || !nzchar(text)) return(NULL)
    tryCatch(eval(str2lang(text), data, globalenv()),
             error = function(e) input_error("data: the fit's ", name, ", ", text, ": ", conditionMessage(e)))
  }
  Filter(Negate(is.null), list(weights = of("weights"), offset = of("offset"), ar.start = as_logical(of("ar_start")),
                               subset = as_logical(of("subset"))))
}

as_logical <- function(values) if (is.null(values) || is.logical(values)) values else values != 0
