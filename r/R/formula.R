# SPDX-License-Identifier: Apache-2.0
# Translates R's formula into the engine's formula and the columns of its table. The engine evaluates every expression
# that it can, so that the model can predict other tables. R evaluates all other variables, which become columns with
# names used only in this file: ".R1.", ...

engine_functions <- list(
  base = c("+", "-", "*", "/", "^", "%%", "%/%", "==", "!=", "<", ">", "<=", ">=", "!", "&", "|", "(", "%in%", "c", "I",
           "log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "sin", "cos", "tan", "abs", "sign", "floor",
           "ceiling", "trunc", "round", "pmin", "pmax", "ifelse", "is.na", "as.numeric", "as.double", "as.integer",
           "factor", "ordered", "as.factor", "as.ordered", "as.character", "cut", "scale"),
  stats = c("pnorm", "dnorm", "relevel", "poly"),
  splines = c("ns", "bs"))

term_operators <- c("+", "-", "*", ":", "^", "/", "%in%", "(")

#' Arguments of smooths that are constants, not variables.
smooth_arguments <- list(
  s = c("k", "fx", "bs", "m", "xt", "id", "sp", "pc"),
  te = c("k", "bs", "m", "d", "fx", "np", "xt", "id", "sp", "pc"),
  ti = c("k", "bs", "m", "d", "fx", "np", "xt", "id", "sp", "mc", "pc"),
  t2 = c("k", "bs", "m", "d", "xt", "id", "sp", "full", "ord", "pc"))

#' A formula, or each of a list, after a change by `f`.
of_formulas <- function(formula, f, ...) if (is.list(formula)) lapply(formula, f, ...) else f(formula, ...)

#' The formula of a call, or a list of one for each linear predictor, of which the first has the response, and then
#' those of shared terms, 1 + 2 ~ s(x) - 1; smooths are in the only form in which mgcv reads them.
checked_formula <- function(formula) {
  formulas <- if (is.list(formula)) unname(formula) else list(formula)
  is_formula <- vapply(formulas, inherits, NA, "formula")
  if (!length(formulas) || !all(is_formula) || length(formulas[[1]]) != 3) {
    usage_error("formula must be one formula with a response, such as y ~ s(x), or for several linear predictors a ",
                "list, such as list(y ~ s(x), ~ s(x))")
  }
  for (one in formulas[-1]) {
    if (length(one) == 3 && !is_shared(one)) {
      usage_error("formula ", text_of(one), ": the second and later ones of a list have no response: write ~ terms")
    }
  }
  of_formulas(if (length(formulas) > 1) formulas else formulas[[1]], function(one) {
    one[[length(one)]] <- plain_smooths(one[[length(one)]])
    one
  })
}

#' Whether linear predictors share the terms of a formula, 1 + 2 ~ s(x) - 1.
is_shared <- function(formula) length(formula) == 3 && !length(all.vars(formula[[2]]))

text_of <- function(expression) paste(deparse(expression, width.cutoff = 500L), collapse = " ")

#' The state of a translation. Variables are looked up in `data` (frame, list or environment), then as R does.
new_translation <- function(data, env) {
  t <- new.env(parent = emptyenv())
  t$data <- data
  t$env <- env
  t$rows <- if (is.data.frame(data)) nrow(data) else NA
  t$columns <- list()         # columns of the table by name
  t$read <- list()            # variables of the formula by name, with their values in R
  t$labels <- character(0)    # for each column evaluated by R: its text in the formula
  t$right <- list()           # of each linear predictor, as are
  t$offsets <- list()
  t$parametric_by_r <- FALSE
  t$unpredicted <- character(0)  # variables of smooths that mgcv's predict cannot evaluate
  t
}

#' A variable in `data` or, if it has a value for each row, in the formula's environment; otherwise NULL.
variable <- function(t, name) {
  if (name %in% names(t$data)) return(t$data[[name]])
  found <- get0(name, t$env, mode = "any", inherits = TRUE)
  if (is.function(found) || is.null(found)) return(NULL)
  if (is.na(t$rows) || NROW(found) == t$rows) found
}

#' A column of the table in the form for C_table; NULL for any other value, such as a matrix or list.
as_column <- function(x) {
  if (is.matrix(x) && ncol(x) == 1) x <- x[, 1]
  if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
  if (!is.null(dim(x)) && length(dim(x)) > 1) return(NULL)
  if (is.character(x)) return(factor(x))
  if (inherits(x, "integer64")) return(if (isNamespaceLoaded("bit64")) as.double(x))
  if (is.factor(x) || is.logical(x) || is.double(x) || is.integer(x)) x
}

#' Whether missing values form a level of the factor, as after addNA(); the engine does not support this.
has_missing_level <- function(x) is.factor(x) && anyNA(levels(x))

#' Whether the engine represents all values of a variable in an expression; only R compares dates.
is_plain <- function(x) {
  kinds <- c("factor", "ordered", "AsIs", "numeric", "integer", "character", "logical", "matrix", "array")
  is.atomic(x) && (!is.object(x) || all(class(x) %in% kinds)) && !is.null(as_column(x)) && !has_missing_level(x)
}

has_function <- function(call, env) {
  name <- call[[1]]
  if (is.call(name) && identical(name[[1]], quote(`::`))) {
    return(as.character(name[[3]]) %in% engine_functions[[as.character(name[[2]])]])
  }
  if (!is.symbol(name)) return(FALSE)
  meant <- get0(as.character(name), env, mode = "function")
  if (is.null(meant)) return(FALSE)
  home <- if (is.primitive(meant)) "base" else sub("package:", "", environmentName(topenv(environment(meant))))
  as.character(name) %in% engine_functions[[home]]
}

#' Whether the engine evaluates the expression with R's result.
engine_evaluates <- function(t, expression) {
  if (is.symbol(expression)) {
    x <- variable(t, as.character(expression))
    return(!is.null(x) && is_plain(x))
  }
  if (!is.call(expression)) return(is.atomic(expression))
  # With factor(exclude =), a missing value may become a level.
  has_function(expression, t$env) && !"exclude" %in% names(expression) &&
    all(vapply(as.list(expression)[-1], engine_evaluates, NA, t = t))
}

read_variable <- function(t, name) {
  if (!is.null(t$columns[[name]])) return(invisible())
  x <- variable(t, name)
  t$read[[name]] <- x
  t$columns[[name]] <- as_column(x)
}

#' The value of an expression computed by R; it must have an element for each row of the data.
value_by_r <- function(t, expression) {
  value <- tryCatch(eval(expression, t$data, t$env),
                    error = function(e) input_error(text_of(expression), ": ", conditionMessage(e)))
  if (is.na(t$rows)) t$rows <- NROW(value)
  if (NROW(value) != t$rows) {
    input_error(text_of(expression), " has ", NROW(value), " values: give ", t$rows, ", one a row")
  }
  for (name in setdiff(all.vars(expression), names(t$read))) t$read[[name]] <- variable(t, name)
  value
}

#' Adds a column evaluated by R and returns its name; `label`: the label of its coefficients in R.
add_column <- function(t, label, value) {
  known <- Find(function(name) identical(t$columns[[name]], value), names(t$labels)[t$labels == label])
  if (!is.null(known)) return(as.symbol(known))
  name <- sprintf(".R%d.", length(t$labels) + 1L)
  t$labels[[name]] <- label
  t$columns[[name]] <- value
  as.symbol(name)
}

#' A variable of the formula in the engine's notation. `what`: the smooth that contains it; NULL: a parametric term.
translate_variable <- function(t, expression, what = NULL) {
  if (!is.call(expression) && !is.symbol(expression)) return(expression)
  if (engine_evaluates(t, expression)) {
    for (name in all.vars(expression)) read_variable(t, name)
    if (is.null(what) && has_other_contrasts(t, expression)) t$parametric_by_r <- TRUE
    return(expression)
  }
  if (!is.null(what) && is.call(expression) && as.character(expression[[1]])[1] %in% c("+", "-", "*", "/", "^", ":")) {
    usage_error(what, ": ", text_of(expression), " is not a variable: write arithmetic as I(", text_of(expression), ")")
  }
  value <- value_by_r(t, expression)
  column <- as_column(value)
  if (is.null(what) && (is.null(column) || has_missing_level(column))) {
    t$parametric_by_r <- TRUE
    return(expression)
  }
  if (has_missing_level(column)) {
    input_error(what, ": ", text_of(expression), " has the level NA, which smooths cannot have: give it a name, ",
                "such as levels(g)[is.na(levels(g))] <- \"none\"")
  }
  if (is.null(column)) {
    input_error(what, ": ", text_of(expression), " is a ", if (is.matrix(value)) "matrix" else class(value)[1],
                ": give a vector")
  }
  if (is.null(what) && is.factor(column) && !usual_contrasts(column)) t$parametric_by_r <- TRUE
  if (is.symbol(expression)) {
    t$columns[[as.character(expression)]] <- column
    return(expression)
  }
  add_column(t, text_of(expression), column)
}

#' Whether R would use the engine's contrasts for a factor: treatment contrasts, or polynomials for an ordered factor.
usual_contrasts <- function(x) {
  wanted <- attr(x, "contrasts")
  if (is.null(wanted)) wanted <- getOption("contrasts")[[if (is.ordered(x)) 2 else 1]]
  if (is.function(wanted)) return(identical(wanted, if (is.ordered(x)) stats::contr.poly else stats::contr.treatment))
  identical(as.character(wanted), if (is.ordered(x)) "contr.poly" else "contr.treatment")
}

has_other_contrasts <- function(t, expression) {
  is_factor <- function(x) is.factor(x) || is.character(x) || is.logical(x)
  read <- lapply(all.vars(expression), function(name) variable(t, name))
  if (is.symbol(expression)) return(any(vapply(read, function(x) is_factor(x) && !usual_contrasts(x), NA)))
  usual <- identical(unname(getOption("contrasts")), c("contr.treatment", "contr.poly"))
  !usual && is_factor(eval(expression, t$data, t$env))
}

#' xt = of bs = "mrf" in the engine's notation: neighbours by name, or the nonzero elements of a penalty by row. As in
#' mgcv, a penalty comes before neighbours, and these before polygons. `term`: the smooth's variable.
with_districts <- function(t, xt, term) {
  if (!is.list(xt)) return(xt)
  if (is.matrix(xt$penalty)) {
    names <- colnames(xt$penalty)
    if (is.null(names)) names <- levels(as.factor(eval(term, t$data, t$env)))
    if (length(names) != ncol(xt$penalty) || nrow(xt$penalty) != ncol(xt$penalty)) {
      usage_error("xt: the penalty is ", nrow(xt$penalty), " x ", ncol(xt$penalty), " for ", length(names),
                  " districts: give a row and a column for each")
    }
    rows <- lapply(seq_along(names), function(i) {
      used <- which(xt$penalty[i, ] != 0 | is.na(xt$penalty[i, ]))
      as.list(stats::setNames(as.numeric(xt$penalty[i, used]), names[used]))
    })
    return(list(penalty = stats::setNames(rows, names)))
  }
  nb <- xt$nb
  if (is.null(nb) && is.list(xt$polys)) nb <- sharing_vertices(xt$polys)
  if (is.list(nb)) return(list(nb = lapply(nb, function(own) if (is.numeric(own)) names(nb)[own] else own)))
  if (is.null(names(xt))) xt[] <- lapply(xt, with_districts, t = t, term = term)
  xt
}

#' The neighbours of each district: those whose polygons have one of its vertices, as mgcv finds them.
sharing_vertices <- function(polys) {
  vertices <- lapply(split(polys, names(polys)), function(parts) {
    all <- do.call(rbind, parts)
    all <- all[!is.na(rowSums(all)), , drop = FALSE] + 0  # no negative zero
    unique(sprintf("%a %a", all[, 1], all[, 2]))
  })
  owners <- split(rep(names(vertices), lengths(vertices)), unlist(vertices))
  Map(function(own, name) setdiff(unlist(owners[own], use.names = FALSE), name), vertices, names(vertices))
}

#' The value of a constant expression in the formula's environment, as a call in the engine's notation. `term`: the
#' variable of the smooth that has it.
constant <- function(t, expression, term = NULL) {
  if (is.atomic(expression)) return(expression)
  value <- with_districts(t, tryCatch(eval(expression, t$env), error = function(e) {
    usage_error(text_of(expression), ": ", conditionMessage(e))
  }), term)
  as_call <- function(value) {
    if (is.list(value)) return(as.call(c(quote(list), lapply(value, as_call))))
    if (is.null(value)) return(NULL)
    if (length(value) == 1) value[[1]] else as.call(c(quote(c), as.list(unname(value))))
  }
  as_call(value)
}

translate_smooth <- function(t, call) {
  kind <- smooth_name(call)
  given <- as.list(call)[-1]
  names <- if (is.null(names(given))) rep("", length(given)) else names(given)
  is_constant <- names %in% smooth_arguments[[kind]]
  given[is_constant] <- lapply(given[is_constant], function(one) constant(t, one, given[!is_constant][[1]]))
  is_null <- is_constant & vapply(given, is.null, NA)
  is_variable <- !is_constant & !(names == "by" & vapply(given, identical, NA, NA))
  given[is_variable] <- lapply(given[is_variable], function(one) {
    check_smooth_variable(t, one, call)
    translate_variable(t, one, text_of(call))
  })
  as.call(c(as.symbol(kind), given[!is_null]))
}

#' Refuses all but numbers and factors in smooths: mgcv would refuse others only in predict, with unclear messages.
check_smooth_variable <- function(t, expression, call) {
  first <- lapply(sapply(all.vars(expression), variable, t = t, simplify = FALSE), utils::head, 2L)
  value <- suppressWarnings(tryCatch(eval(expression, Filter(Negate(is.null), first), t$env), error = function(e) NULL))
  if (!is.null(value) && !is.numeric(value) && !is.factor(value) && !is.character(value)) {
    text <- text_of(expression)
    input_error(text_of(call), ": ", text, " is of class ", class(value)[1], ", but smooths need numbers or factors: ",
                "write as.numeric(", text, ")", if (is.logical(value)) ", or make it a factor in the data")
  }
  is_base <- vapply(functions_of(expression), exists, NA, envir = baseenv(), inherits = FALSE)
  if (!all(is_base)) t$unpredicted <- unique(c(t$unpredicted, text_of(expression)))
}

#' The names of the functions in an expression that are called without a package name.
functions_of <- function(expression) {
  if (!is.call(expression)) return(character(0))
  own <- if (is.symbol(expression[[1]])) as.character(expression[[1]])
  c(own, unlist(lapply(as.list(expression)[-1], functions_of)))
}

smooth_name <- function(expression) {
  if (!is.call(expression)) return(NULL)
  name <- expression[[1]]
  if (is.call(name) && identical(name[[1]], quote(`::`)) && identical(name[[2]], quote(mgcv))) name <- name[[3]]
  if (is.symbol(name) && as.character(name) %in% names(smooth_arguments)) as.character(name)
}

#' mgcv::s(x) as s(x).
plain_smooths <- function(expression) {
  kind <- smooth_name(expression)
  if (!is.null(kind)) expression[[1]] <- as.symbol(kind)
  else if (is.call(expression) && as.character(expression[[1]])[1] %in% term_operators) {
    expression[-1] <- lapply(as.list(expression)[-1], plain_smooths)
  }
  expression
}

#' Stops before the fit if mgcv, which makes the object, cannot read the formula.
check_formula <- function(formula) {
  of_formulas(formula, function(one) {
    offsets <- offsets_in(one[[length(one)]])
    if (length(offsets) > 1) {
      usage_error("mgcv reads only one offset() of a formula: write ",
                  text_of(call("offset", Reduce(function(a, b) call("+", a, b), offsets))))
    }
  })
  names <- unique(unlist(of_formulas(formula, all.vars)))
  odd <- names[names != make.names(names)]
  is_read <- function() tryCatch(is.list(mgcv::interpret.gam(formula)), error = function(e) FALSE)
  if (length(odd) && !is_read()) {
    usage_error("mgcv cannot read the name ", toString(paste0("`", odd, "`")), " in a formula: rename the column")
  }
}

offsets_in <- function(expression) {
  if (!is.call(expression)) return(list())
  if (identical(expression[[1]], quote(offset))) return(list(expression[[2]]))
  if (!as.character(expression[[1]])[1] %in% term_operators) return(list())
  do.call(c, lapply(as.list(expression)[-1], offsets_in))
}

#' Translates the right-hand side. With `parametric` = FALSE, returns only its smooths, as a list of calls.
translate_terms <- function(t, expression) {
  if (!is.null(smooth_name(expression))) return(translate_smooth(t, expression))
  if (is.call(expression) && as.character(expression[[1]])[1] %in% term_operators) {
    last <- if (identical(expression[[1]], quote(`^`))) 2 else length(expression)
    for (i in 2:last) expression[[i]] <- translate_terms(t, expression[[i]])
    return(expression)
  }
  if (is.call(expression) && identical(expression[[1]], quote(offset))) {
    expression[[2]] <- translate_variable(t, expression[[2]], "offset()")
    t$offsets[[length(t$offsets)]] <- c(t$offsets[[length(t$offsets)]], expression)
    return(expression)
  }
  translate_variable(t, expression)
}

smooths_in <- function(expression) {
  if (!is.call(expression)) return(list())
  if (!is.null(smooth_name(expression))) return(list(expression))
  do.call(c, lapply(as.list(expression)[-1], smooths_in))
}

#' Translates the response; a matrix becomes two columns.
translate_response <- function(t, expression) {
  if (is.call(expression) && identical(expression[[1]], quote(cbind)) && length(expression) == 3) {
    for (i in 2:3) expression[[i]] <- translate_variable(t, expression[[i]], "the response")
    return(expression)
  }
  if (engine_evaluates(t, expression)) return(translate_variable(t, expression, "the response"))
  value <- value_by_r(t, expression)
  if (!is.matrix(value) || ncol(value) != 2) return(translate_variable(t, expression, "the response"))
  label <- text_of(expression)
  as.call(list(quote(cbind), add_column(t, paste0(label, "[, 1]"), as_column(value[, 1])),
               add_column(t, paste0(label, "[, 2]"), as_column(value[, 2]))))
}

#' Expands "." as R does: to all columns that are not in the response.
expand_dot <- function(formula, data) {
  if (!"." %in% all.vars(formula[[length(formula)]]) || !is.data.frame(data)) return(formula)
  env <- environment(formula)
  formula <- stats::formula(stats::terms(formula, data = data))
  environment(formula) <- env
  formula
}

#' Translates a formula, or a list of formulas. Returns `columns` of the engine's table, `labels` of columns evaluated
#' by R, and what engine_formula() joins: the response `left`, and a `right` side for each linear predictor.
translate_formula <- function(formula, data) {
  formulas <- if (is.list(formula)) formula else list(formula)
  t <- new_translation(data, environment(formulas[[1]]))
  response <- formulas[[1]][[2]]
  if (is.na(t$rows)) t$rows <- NROW(eval(response, data, t$env))
  if (t$rows == 0) input_error("the data have no rows: give one or more")
  left <- translate_response(t, response)
  t$formula <- formula
  t$left <- left
  for (one in formulas) {
    t$offsets[[length(t$right) + 1]] <- list()
    t$right <- c(t$right, list(translate_terms(t, one[[length(one)]])))
  }
  t
}

#' Makes the parametric part of a predictor from columns of R's model matrix, if the engine lacks a contrast or a
#' matrix. `frame`: the rows of the fit.
parametric_by_r <- function(t, predictor, pterms, frame) {
  columns <- stats::model.matrix(pterms, frame)
  names <- setdiff(colnames(columns), "(Intercept)")
  terms <- lapply(names, function(name) add_column(t, name, unname(columns[, name])))
  one <- if (attr(pterms, "intercept") == 1) 1 else 0
  t$right[[predictor]] <- Reduce(function(a, b) call("+", a, b),
                                 c(one, terms, t$offsets[[predictor]], smooths_in(t$right[[predictor]])))
}

engine_formula <- function(t) {
  first <- call("~", t$left, t$right[[1]])
  if (!is.list(t$formula)) return(text_of(first))
  further <- Map(function(right, one) if (is_shared(one)) call("~", one[[2]], right) else call("~", right),
                 t$right[-1], t$formula[-1])
  text_of(as.call(c(quote(list), first, further)))
}

#' The engine's JSON, with the names of columns evaluated by R replaced by their texts in the formula.
with_labels <- function(json, labels) {
  for (name in names(labels)) {
    json <- rapply(json, function(text) gsub(name, labels[[name]], text, fixed = TRUE), "character", how = "replace")
  }
  json
}
