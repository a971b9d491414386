# SPDX-License-Identifier: Apache-2.0
# Makes smooths of mgcv's own classes, but for districts. mgcv's constructor makes the basis at the model's knots or points. A matrix
# `diagRP`, by which PredictMat multiplies, contains choices such as signs, natural parameters and constraints.

#' The smooths of a model for the formula's specifications, with penalties and coefficients. `places`: the model's index
#' of each of the object's coefficients.
model_smooths <- function(json, specifications, places) {
  levels <- design_levels(json)
  begins <- cumsum(c(0, vapply(json$design$terms, raw_size, 0, levels)))
  first <- cumsum(c(1, lengths(lapply(json$design$blocks, `[[`, "names"))))
  smooths <- list()
  penalties <- sum(lengths(lapply(json$design$blocks[!is_smooth(json$design$blocks)], function(block) block$penalty$labels)))
  for (b in which(is_smooth(json$design$blocks))) {
    block <- json$design$blocks[[b]]
    own <- Filter(function(one) identical(block_label(one, block), plain(block$label)), specifications)
    if (length(own) != 1) input_error("the smooth ", block$label, " is not in the formula: fit the model again")
    components <- own_components(json$design$terms[[term_of(block, begins)]], block, own[[1]]$by)
    smooth <- with_basis(own[[1]], block, components, levels)
    smooth <- with_penalties(smooth, block, json$terms[[b]], length(block$names))
    smooth$first.para <- match(first[b], places)
    smooth$last.para <- smooth$first.para + length(block$names) - 1
    smooth$first.sp <- penalties + 1
    penalties <- penalties + length(smooth$S)
    smooth$last.sp <- penalties
    smooths[[length(smooths) + 1]] <- smooth
  }
  smooths
}

is_smooth <- function(blocks) !vapply(blocks, `[[`, "", "kind") %in% c("parametric", "intercept", "linear")

design_levels <- function(json) {
  factors <- Filter(function(one) !is.null(one$levels), json$design$variables)
  c(stats::setNames(lapply(factors, function(one) texts(one$levels)), field(factors, "name")), contrast_levels(json))
}

#' The levels of ordered expressions, from their contrasts: contr.poly(factor(ordered(x), levels = c("1", "2")), 1).
contrast_levels <- function(json) {
  coded <- unique(lapply(json$expressions$contrasts, function(one) str2lang(one$source)[[2]]))
  coded <- Filter(function(one) is.call(one) && !is.null(one$levels), coded)
  levels <- lapply(coded, function(one) eval(one$levels, baseenv()))
  stats::setNames(levels, vapply(coded, function(one) text_of(one[[2]]), ""))
}

#' The number of raw columns of a term.
raw_size <- function(term, levels) prod(1, vapply(term, component_size, 0, levels))

component_size <- function(component, levels) {
  if (!is.null(own <- levels[[component$variable]])) return(length(own))
  if (!is.null(margin <- component$margin)) return((length(margin$breaks) - 2) * margin$stride + 4)
  if (!is.null(component$radial)) return(max(8, 4 * ceiling(component$radial$map$cols / 4)))
  if (!is.null(component$isotropic)) component$isotropic$map$cols else 1
}

#' The index (from 1) of a block's term; in models before 0.4 it follows from the block's first raw column.
term_of <- function(block, begins) {
  if (is.null(block[["term"]])) findInterval(block$raw_begin, begins) else block[["term"]] + 1
}

#' The label of a specification's block in the model: `s(x)`, `s(x):z`, `s(x):gb`.
block_label <- function(specification, block) {
  by <- specification$by
  plain(if (by == "NA") specification$label else paste0(specification$label, ":", by, block$by_level))
}

#' The components of a term without the component for by =.
own_components <- function(term, block, by) if (by == "NA") term else term[-1]

#' The smooth with a basis that reproduces the model's columns.
with_basis <- function(specification, block, components, levels) {
  specification <- plain_tensor(specification)
  by <- specification$by
  specification$by <- "NA"
  build <- switch(block$kind, re = random_effect, fs = , sz = factor_smooth, spline_smooth)
  mapped <- build(specification, block, components, levels)
  mapped$by <- by
  if (nzchar(block$by_level)) mapped$by.level <- block$by_level
  mapped$label <- block$label
  mapped$vn <- c(mapped$term, if (by != "NA") by)
  mapped$X <- mapped$Xb <- mapped$C <- mapped$Cp <- mapped$fac <- mapped$ind <- NULL
  qrc <- attr(mapped, "qrc")
  attr(mapped, "nCons") <- if (is.null(qrc)) as.integer(isTRUE(block$centred)) else qrc[length(qrc)]
  mapped
}

#' A tensor product without the constraints (`mc`) and the parametrisation by values (`np`) of its margins, which mgcv
#' computes from the rows: the map contains both.
plain_tensor <- function(specification) {
  if (!is.null(specification$margin)) {
    specification$np <- FALSE
    specification$mc <- rep(FALSE, length(specification$margin))
  }
  specification
}

small_values <- function(variable, levels) {
  own <- levels[[variable]]
  if (is.null(own)) c(1, 2) else factor(own[c(1, length(own))], levels = unique(own[c(1, length(own))]))
}

#' mgcv's unconstrained smooth at these points.
constructed <- function(specification, points, knots) {
  rows <- max(lengths(points))
  points <- lapply(points, rep_len, rows)
  smooth <- withCallingHandlers(mgcv::smoothCon(specification, points, knots, scale.penalty = FALSE, n = rows)[[1]],
                                warning = function(w) invokeRestart("muffleWarning"))
  attr(smooth, "qrc") <- NULL
  smooth$margin <- lapply(smooth$margin, function(margin) {
    margin$X <- NULL
    if (!is.null(margin$form)) margin$form <- stats::as.formula(deparse1(margin$form), globalenv())
    margin
  })
  if (!length(smooth$margin)) smooth$margin <- NULL
  smooth
}

#' A random effect, for which mgcv's columns equal the model's.
random_effect <- function(specification, block, components, levels) {
  smooth <- constructed(specification, lapply(stats::setNames(nm = specification$term), small_values, levels), NULL)
  smooth$form <- stats::as.formula(deparse1(smooth$form), globalenv())
  smooth$bs.dim <- length(block$names)
  if (!is_identity(block$map)) smooth$diagRP <- dense(block$map)
  smooth
}

is_identity <- function(matrix) {
  if (matrix$rows != matrix$cols) return(FALSE)
  if (is.null(matrix$entries)) return(identical(dense(matrix), diag(matrix$cols)))
  entries <- array(numbers(unlist(matrix$entries)), c(3, length(matrix$entries)))
  ncol(entries) == matrix$cols && all(entries[1, ] == entries[2, ]) && all(entries[3, ] == 1)
}

spline_smooth <- function(specification, block, components, levels) {
  if (is.null(specification$margin)) specification <- of_levels(specification, components[[1]], levels)
  else specification$margin <- Map(of_levels, specification$margin, components, list(levels))
  parts <- if (is.null(specification$margin)) list(specification) else specification$margin
  points <- Map(function(component, part) component_points(component, levels, max(part$bs.dim, 10)), components, parts)
  at <- rename_points(unlist(points, recursive = FALSE), specification$term)
  smooth <- constructed(specification, at, block_knots(block, specification))
  if (is.null(smooth$margin)) {
    smooth <- with_model_points(smooth, components[[1]], smooth$bs.dim)
    map <- kronecker_times(list(margin_map(smooth, components[[1]], points[[1]])), dense(block$map))
  } else if (inherits(smooth, "t2.smooth")) {
    smooth <- plain_margins(smooth, components, lapply(block$margin_natural, dense))
    map <- grid_map(smooth, components, points, dense(block$map))
  } else {
    smooth <- plain_margins(smooth, components, NULL)
    maps <- Map(margin_map, smooth$margin, components, points)
    map <- kronecker_times(maps, dense(block$map))
  }
  if (!is_unit(map)) smooth$diagRP <- map
  check_map(smooth, block, components, points)
  smooth
}

#' A Markov random field with a coefficient for each district, whatever its k and penalty, which the map and the model's
#' penalty have.
of_levels <- function(specification, component, levels) {
  if (!inherits(specification, "mrf.smooth.spec")) return(specification)
  specification$bs.dim <- length(levels[[component$variable]])
  polys <- if (is.list(specification$xt)) specification$xt$polys
  specification$xt <- list(polys = polys, penalty = diag(specification$bs.dim))
  specification
}

#' The indicators of districts: NA where a district is missing or unknown, where mgcv's method leaves the row out.
Predict.matrix.tessera_districts <- function(object, data) {
  known <- levels(object$knots)
  X <- diag(length(known))[match(data[[object$term]], known), , drop = FALSE]
  if (is.null(object$P)) X else X %*% object$P
}

#' Renames points to the formula's term names, because the model's names may lack backticks.
rename_points <- function(points, terms) stats::setNames(points, terms[match(plain(names(points)), plain(terms))])

#' The model's knots, named by the variables of the margins.
block_knots <- function(block, specification) {
  knots <- lapply(block$knots, numbers)
  names(knots) <- texts(block$variables)[seq_along(knots)]
  knots <- knots[lengths(knots) > 0]
  if (length(knots)) rename_points(knots, specification$term)
}

#' The margins with the model's points, and for t2() their natural parametrisation. If the model does not tell it, the
#' map contains it.
plain_margins <- function(smooth, components, natural) {
  smooth$margin <- Map(with_model_points, smooth$margin, components, lapply(smooth$margin, `[[`, "bs.dim"))
  smooth$XP <- NULL
  if (!is.null(smooth$P)) {
    sizes <- vapply(smooth$margin, `[[`, 0, "bs.dim")
    is_told <- identical(as.numeric(lapply(natural, nrow)), sizes)
    smooth$P <- if (is_told) natural else lapply(sizes, diag)
    if (!is_told) smooth$ord <- NULL
  }
  smooth
}

#' A thin plate spline or similar smooth, with the model's points and basis functions.
with_model_points <- function(smooth, component, size) {
  smooth$C <- NULL
  if (inherits(smooth, "mrf.smooth")) class(smooth) <- c("tessera_districts", class(smooth))
  if (isTRUE(smooth$drop.null > 0)) {
    # The basis includes the unpenalised functions that m = c(2, 0) drops; the map excludes them.
    size <- size + smooth$drop.null
    smooth$bs.dim <- size
    smooth$drop.null <- 0
  }
  used <- seq_len(size)  # the remaining columns are zero
  if (!is.null(radial <- component$radial)) {
    map <- dense(radial$map)[, used, drop = FALSE]
    n <- length(radial$points)
    map[seq_len(n), ] <- map[seq_len(n), ] / radial$unit^3
    map[n + 2, ] <- map[n + 2, ] / radial$unit
    smooth$UZ <- map
    smooth$Xu <- matrix(numbers(radial$points) - radial$shift)
    smooth$shift <- radial$shift
  } else if (!is.null(isotropic <- component$isotropic)) {
    map <- dense(isotropic$map)[, used, drop = FALSE]
    n <- isotropic$points$rows
    smooth$shift <- numbers(isotropic$shift)
    if (inherits(smooth, c("tprs.smooth", "ts.smooth"))) {
      smooth$UZ <- map
      smooth$Xu <- dense(isotropic$points)
    } else {
      smooth$knt <- dense(isotropic$points)
      smooth$UZ <- map[seq_len(n), seq_len(ncol(map) - length(isotropic$powers)), drop = FALSE]
      if (inherits(smooth, "gp.smooth")) smooth$gp.defn[2:3] <- c(1 / isotropic$scale, isotropic$exponent)
      else smooth$UZ <- smooth$UZ * isotropic$scale / distance_sign(isotropic)
    }
  }
  smooth
}

#' The sign of the radial function of mgcv's Duchon splines.
distance_sign <- function(isotropic) 1 - 2 * ((floor(isotropic$power / 2) + 1) %% 2)

#' The matrix that maps a component's raw columns to mgcv's basis functions. If the raw columns are these functions, as
#' they are where mgcv has the model's points: the identity, padded with zero columns. Otherwise by least squares, e.g.
#' for the cells of a cubic spline, which has more columns than functions.
margin_map <- function(margin, component, points) {
  if (!is.null(c(component$radial, component$isotropic))) return(diag(1, margin$bs.dim, component_size(component, NULL)))
  basis <- mgcv::Predict.matrix(margin, rename_points(points, margin$term))
  own <- component_columns(component, points)
  k <- ncol(basis)
  if (ncol(own) >= k && max(abs(basis - own[, seq_len(k)])) <= 1e-11 * max(abs(own))) return(diag(1, k, ncol(own)))
  least_squares(basis, own)
}

least_squares <- function(basis, columns) qr.coef(qr(basis, LAPACK = TRUE), columns)

#' (a1 (x) a2 (x) ...) x, computed factor by factor; the last factor's index varies fastest.
kronecker_times <- function(factors, x) {
  columns <- ncol(x)
  for (a in rev(factors)) x <- t(a %*% matrix(x, ncol(a)))
  t(matrix(x, columns))
}

is_unit <- function(map) nrow(map) == ncol(map) && max(abs(map - diag(nrow(map)))) <= 1e-12

#' The map of a tensor product with columns in another order, by least squares on a grid.
grid_map <- function(smooth, components, points, map) {
  at <- expand.grid(lapply(points, function(one) seq_along(one[[1]])))
  grid <- at_rows(points, at)
  least_squares(mgcv::Predict.matrix(smooth, rename_points(unlist(grid, recursive = FALSE), smooth$term)),
                raw_columns(components, grid) %*% map)
}

at_rows <- function(points, at) Map(function(one, rows) lapply(one, `[`, rows), points, at)

raw_columns <- function(components, points) mgcv::tensor.prod.model.matrix(Map(component_columns, components, points))

#' Some rows of the tensor product of the points; each point is in at least one row.
check_rows <- function(points) {
  sizes <- vapply(points, function(one) length(one[[1]]), 0L)
  rows <- if (length(sizes) > 1) max(sizes, 100) else sizes
  Map(function(size, step) (seq_len(rows) * step) %% size + 1, sizes, seq_along(sizes) * 2 - 1)
}

#' Stops unless the smooth reproduces the model's columns.
check_map <- function(smooth, block, components, points) {
  rows <- check_rows(points)
  # A smooth of the model's own points has the model's functions: some points between them tell it.
  has_points <- !is.null(c(components[[1]]$radial, components[[1]]$isotropic))
  if (length(rows) == 1 && has_points) rows[[1]] <- utils::tail(rows[[1]], 10)
  some <- at_rows(points, rows)
  variables <- rename_points(unlist(some, recursive = FALSE), smooth$term)
  check_columns(mgcv::PredictMat(smooth, as.data.frame(variables, optional = TRUE)),
                raw_columns(components, some) %*% dense(block$map), block)
}

check_columns <- function(found, expected, block) {
  apart <- max(abs(found - expected)) / max(abs(expected))
  if (!isTRUE(apart <= 1e-10)) {
    input_error("mgcv's basis of ", block$label, " differs from the model's by ", format(apart, digits = 2),
                " of its largest value: predict with tessera-fit, and report the formula")
  }
}

#' Smooths of bs = "fs" and "sz": a base smooth for each level.
factor_smooth <- function(specification, block, components, levels) {
  is_factor <- vapply(components, function(one) !is.null(levels[[one$variable]]), NA)
  own <- components[!is_factor][[1]]
  factors <- field(components[is_factor], "variable")
  points <- component_points(own, levels, max(specification$bs.dim, 10))
  smooth <- constructed(specification, factor_points(specification, points), block_knots(block, specification))
  base <- with_model_points(base_of(smooth), own, smooth$base$bs.dim)
  of_points <- intersect(c("UZ", "Xu", "knt", "shift", "gp.defn"), names(base))
  smooth[of_points] <- base[of_points]
  map <- margin_map(base, own, points)
  level_map <- first_level(block$map, ncol(map), nrow(map))
  expected <- component_columns(own, points) %*% level_map
  if (block$kind == "fs") {
    # Use the model's natural parametrisation: if the penalty has a null space, mgcv's depends on rounding.
    smooth$P <- map %*% level_map
    smooth$flev <- levels[[factors]]
    smooth$bs.dim <- length(block$names)
    check_columns(mgcv::Predict.matrix(base, rename_points(points, base$term)) %*% smooth$P, expected, block)
    return(smooth)
  }
  smooth$flev <- unname(levels[factors[match(plain(smooth$fterm), plain(factors))]])
  counts <- lengths(smooth$flev)
  smooth$bs.dim <- prod(counts - 1) * nrow(map)
  if (is.null(block$determined) && length(block$names) == smooth$bs.dim) {
    # mgcv's contrasts of levels are built in and need no matrix.
    check_columns(mgcv::Predict.matrix(base, rename_points(points, base$term)), expected, block)
    attr(smooth, "qrc") <- c(0, counts, prod(counts) * nrow(map) - length(block$names))
    return(smooth)
  }
  smooth$diagRP <- kronecker_times(c(lapply(counts, diag), list(map)), dense(block$map))
  check_map(smooth, block, components, lapply(components, component_points, levels, nrow(map)))
  smooth
}

#' The points of the base smooth, for two levels of each factor.
factor_points <- function(specification, points) {
  terms <- specification$term
  values <- rename_points(points, terms)
  of_levels <- factor(rep(c("a", "b"), each = length(values[[1]])))
  values[setdiff(terms, names(values))] <- list(of_levels)
  lapply(values[terms], rep_len, length(of_levels))
}

#' The base smooth of bs = "fs" and "sz", as their Predict.matrix methods use it.
base_of <- function(smooth) {
  base <- unclass(smooth)
  base[c("bs.dim", "rank", "null.space.dim", "term")] <- smooth$base[c("bs.dim", "rank", "null.space.dim", "term")]
  base$dim <- length(base$term)
  structure(base, class = smooth$base$bs)
}

#' The map for the first level: for "fs" the whole map, for "sz" the coefficients of the first level.
first_level <- function(map, rows, columns) {
  if (is.null(map$entries)) return(dense(map)[seq_len(rows), seq_len(columns), drop = FALSE])
  entries <- array(numbers(unlist(map$entries)), c(3, length(map$entries)))
  entries <- entries[, entries[1, ] < rows & entries[2, ] < columns, drop = FALSE]
  own <- matrix(0, rows, columns)
  own[cbind(entries[1, ] + 1, entries[2, ] + 1)] <- entries[3, ]
  own
}

#' The smooth with the model's penalties and smoothing parameters. As in mgcv, a smooth without a penalty (fx = TRUE)
#' has the rank and null space of the penalty that it would have.
with_penalties <- function(smooth, block, term, size) {
  smooth$S <- penalty_matrices(block$penalty, size)
  count <- length(smooth$S)
  smooth$S.scale <- numbers(block$s_scale)[seq_len(count)]
  smooth$df <- size
  for (flag in c("plot.me", "side.constrain", "repara")) if (is.null(smooth[[flag]])) smooth[[flag]] <- TRUE
  if (count == 0) {
    smooth$null.space.dim <- smooth$null.space.dim - isTRUE(block$centred)
    return(smooth)
  }
  smooth$sp <- ifelse(as.logical(unlist(block$given))[seq_len(count)], numbers(term$sp), -1)
  smooth$rank <- if (is.null(term[["rank"]])) vapply(smooth$S, matrix_rank, 0) else numbers(term[["rank"]])
  free <- if (is.null(term$null_space_dim)) size - matrix_rank(sum_of_scaled(smooth$S, size)) else term$null_space_dim
  # mgcv tests a smooth without unpenalised functions as a random effect, which is wrong if the smooth lost these
  # functions to other terms.
  smooth$null.space.dim <- if (free == 0 && !is.null(block$determined)) block$determined else free
  smooth
}

penalty_matrices <- function(penalty, size) {
  if (length(penalty$matrices)) return(lapply(penalty$matrices, dense))
  if (!is.null(penalty$levels)) {
    of_levels <- dense(penalty$levels)
    own <- dense(penalty$of_level)
    return(lapply(seq_len(ncol(of_levels)), function(j) kronecker(tcrossprod(of_levels[, j]), own)))
  }
  if (is.null(penalty$eigenvalues)) return(list())
  eigenvalues <- dense(penalty$eigenvalues)
  lapply(seq_len(ncol(eigenvalues)), function(j) diag(eigenvalues[, j], size))
}

sum_of_scaled <- function(matrices, size) {
  Reduce(`+`, lapply(matrices, function(S) S / max(abs(S))), matrix(0, size, size))
}

matrix_rank <- function(S) {
  if (all(S[row(S) != col(S)] == 0)) return(sum(diag(S) > 0))
  values <- eigen(S, symmetric = TRUE, only.values = TRUE)$values
  sum(values > max(values) * .Machine$double.eps^0.8)
}
