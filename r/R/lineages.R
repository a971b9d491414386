# SPDX-License-Identifier: Apache-2.0
# The model of tradeSeq's fitGAM, a smooth of pseudotime for each lineage, and the fits in the shape of its result.

#' The columns of the cells, the formula and the knots; `parts` is what fitGAM's result has of them.
model_of_lineages <- function(counts, cells, family, pseudotime, cell_weights, conditions, U, offset, nknots, seed,
                              quiet) {
  if (nknots < 3 || nknots != round(nknots)) usage_error("nknots is ", nknots, ": give a whole number, 3 or more")
  times <- lineage_matrix(pseudotime, "pseudotime", cells)
  if (is.null(cell_weights) && ncol(times) > 1) {
    usage_error("pseudotime has ", ncol(times), " lineages: give cell_weights, or an assignment of 0 and 1")
  }
  weights <- if (is.null(cell_weights)) array(1, dim(times)) else lineage_matrix(cell_weights, "cell_weights", cells)
  check_weights(weights, times, cells)
  conditions <- checked_conditions(conditions, cells, quiet)
  assigned <- assigned_lineages(weights, seed)
  own <- times[cbind(seq_len(cells$count), assigned)]
  if (!all(is.finite(own))) {
    input_error("pseudotime of ", cell_name(cells, !is.finite(own)), " is missing where it has a weight: give it")
  }
  times[!is.finite(times)] <- 0
  U <- fixed_effects(U, cells)
  fixed <- stats::setNames(lapply(seq_len(ncol(U)), function(j) U[, j]), sprintf("U%d", seq_len(ncol(U))))
  terms <- if (length(fixed)) c("-1", names(fixed))
  smooths <- list()
  groups <- if (is.null(conditions)) "" else paste0("_", seq_len(nlevels(conditions)))
  for (lineage in seq_len(ncol(times))) {
    if (!any(assigned == lineage)) {
      input_error("lineage ", lineage, " has no cells: leave it out, or give its cells weights")
    }
    time <- paste0("t", lineage)
    smooths[[time]] <- unname(times[, lineage])
    for (group in seq_along(groups)) {
      is_own <- assigned == lineage & (if (is.null(conditions)) TRUE else as.integer(conditions) == group)
      if (!any(is_own)) {
        input_error("lineage ", lineage, " has no cells of condition '", levels(conditions)[group],
                    "': leave out the lineage or the condition")
      }
      by <- paste0("l", lineage, groups[group])
      smooths[[by]] <- as.numeric(is_own)
      # A number that is 1 in all cells is no by variable: the smooth is that of the model's constant.
      by_text <- if (!all(is_own)) sprintf("by=%s, ", by) else ""
      terms <- c(terms, sprintf("s(%s, %sbs='cr', id=1, k=%d)", time, by_text, nknots))
    }
  }
  offset <- lineage_offset(offset, counts, cells, family)
  knots <- lineage_knots(own, assigned, nknots)
  list(columns = c(fixed, list(offset = offset), smooths),
       formula = paste(c(terms, "offset(offset)"), collapse = " + "),
       knots = stats::setNames(rep(list(knots), ncol(times)), paste0("t", seq_len(ncol(times)))),
       parts = list(U = if (ncol(U)) U else matrix(1, cells$count), times = times, weights = weights,
                    conditions = conditions, smooths = smooths))
}

cell_name <- function(cells, wrong) {
  place <- which(wrong)[1]
  if (is.null(cells$names)) paste("cell", place) else paste0("cell '", cells$names[place], "'")
}

#' A matrix of cells x lineages.
lineage_matrix <- function(values, what, cells) {
  values <- if (is.null(dim(values))) cbind(values) else as.matrix(values)
  if (nrow(values) == 0 || ncol(values) == 0) input_error(what, " has no cells or lineages: give cells x lineages")
  if (!is.numeric(values)) input_error(what, " is of ", typeof(values), ": give numbers, cells x lineages")
  of_cells(values, what, cells)
}

check_weights <- function(weights, times, cells) {
  if (ncol(weights) != ncol(times)) {
    input_error("cell_weights and pseudotime have ", ncol(weights), " and ", ncol(times), " lineages: give the same")
  }
  wrong <- rowSums(is.na(weights) | weights < 0) > 0
  if (any(wrong)) input_error("a weight of ", cell_name(cells, wrong), " is negative or missing: give 0 or more")
  none <- rowSums(weights) == 0
  if (any(none)) input_error(cell_name(cells, none), " has no weight in any lineage: leave the cell out")
}

checked_conditions <- function(conditions, cells, quiet) {
  if (is.null(conditions)) return(NULL)
  conditions <- droplevels(as.factor(of_cells(conditions, "conditions", cells)))
  missing <- is.na(conditions)
  if (any(missing)) input_error("the condition of ", cell_name(cells, missing), " is missing: leave the cell out")
  if (nlevels(conditions) > 1) return(conditions)
  if (!quiet) message("conditions: all cells have the same, so that there is one smooth for each lineage")
  NULL
}

#' Fixed effects as columns of numbers; those of a factor have one for each level.
fixed_effects <- function(U, cells) {
  if (is.null(U)) return(matrix(0, cells$count, 0))
  U <- of_cells(U, "U", cells)
  if (is.character(U) || is.factor(U)) {
    U <- droplevels(as.factor(U))
    return(structure(outer(as.integer(U), seq_len(nlevels(U)), "==") + 0, dimnames = list(NULL, levels(U))))
  }
  U <- as.matrix(U)
  if (!is.numeric(U) || anyNA(U)) {
    input_error("U has a missing value, or is no matrix of numbers: give model.matrix(), or a factor")
  }
  U
}

#' The lineage of each cell, by its weights: the draws of fitGAM in the same state of R's random numbers.
assigned_lineages <- function(weights, seed) {
  if (!is.null(seed)) {
    before <- get0(".Random.seed", globalenv(), inherits = FALSE)
    on.exit(if (is.null(before)) rm(".Random.seed", envir = globalenv())
            else assign(".Random.seed", before, globalenv()))
    set.seed(seed)
  }
  apply(weights / rowSums(weights), 1, function(shares) which(stats::rmultinom(1, 1, shares) == 1))
}

#' The offset of each cell: the logarithm of effective library sizes if none is given.
lineage_offset <- function(offset, counts, cells, family) {
  if (is.null(offset)) {
    is_count <- sub("\\(.*", "", family) %in% c("nb", "poisson", "quasipoisson")
    if (!is_count) usage_error("family ", family, " has no library sizes: give offset, as rep(0, ncol(counts))")
    return(log(effective_sizes(counts, cells)))
  }
  if (is_table(offset)) usage_error("offset is a matrix: with pseudotime, give one number for each cell")
  offset <- as.numeric(of_cells(offset, "offset", cells))
  wrong <- !is.finite(offset)
  if (any(wrong)) input_error("offset of ", cell_name(cells, wrong), " is not finite: leave the cell out")
  offset
}

#' Quantiles of the cells' pseudotimes, of which the end of each lineage but the first replaces the nearest, as in
#' fitGAM.
lineage_knots <- function(own, assigned, nknots) {
  quantiles <- function(times) stats::quantile(times, seq(0, nknots - 1) / (nknots - 1), names = FALSE)
  knots <- quantiles(own)
  if (anyDuplicated(knots)) {
    knots <- quantiles(own[assigned == 1])
    double <- which(duplicated(knots))
    if (length(double) == 1) {
      if (double == nknots) double <- nknots - 1
      knots[double] <- mean(knots[double + c(-1, 1)])
    } else if (length(double)) {
      warning("many cells have one pseudotime: knots are evenly spaced, not quantiles", call. = FALSE)
      knots <- seq(min(own), max(own), length.out = nknots)
    }
  }
  ends <- vapply(split(own, assigned)[-1], max, 0)
  ends <- ends[!ends %in% knots]
  knots[vapply(ends, function(end) which.min(abs(knots - end)), 0L)] <- ends
  if (!all(ends %in% knots)) {
    warning("not every lineage ends at a knot, because two ends are nearest to one: give more knots", call. = FALSE)
  }
  replace(knots, c(1, nknots), range(own))
}

#' Library sizes times the normalisation factors of Robinson and Oshlack, Genome Biology 11 (2010), R25.
effective_sizes <- function(counts, cells) {
  counts <- if (is.matrix(counts)) counts else methods::as(counts, "CsparseMatrix")
  sizes <- Matrix::colSums(counts)
  if (!all(sizes > 0)) input_error(cell_name(cells, !(sizes > 0)), " has no count: leave the cell out, or give offset")
  seen <- sum(Matrix::rowSums(counts) > 0)
  cell <- function(j) {  # the genes with counts
    if (is.matrix(counts)) {
      genes <- which(counts[, j] > 0)
      return(list(genes = genes, values = as.numeric(counts[genes, j])))
    }
    places <- seq.int(counts@p[j] + 1, length.out = counts@p[j + 1] - counts@p[j])
    places <- places[counts@x[places] > 0]
    list(genes = counts@i[places] + 1L, values = counts@x[places])
  }
  each <- function(f) vapply(seq_along(sizes), function(j) f(cell(j), sizes[[j]]), 0)
  upper <- each(function(one, size) {
    stats::quantile(c(numeric(seen - length(one$values)), one$values), 0.75, names = FALSE) / size
  })
  place <- if (stats::median(upper) < 1e-20) which.max(each(function(one, size) sum(sqrt(one$values))))
           else which.min(abs(upper - mean(upper)))
  reference <- numeric(nrow(counts))
  reference[cell(place)$genes] <- cell(place)$values / sizes[[place]]
  logarithms <- each(function(one, size) {
    log_factor(one$values / size, reference[one$genes], size, sizes[[place]])
  })
  unname(sizes * exp(logarithms - mean(logarithms)))
}

#' The weighted trimmed mean of the log ratios of the shares of the genes in two cells.
log_factor <- function(own, reference, own_size, reference_size) {
  own <- own[reference > 0]
  reference <- reference[reference > 0]
  ratios <- log2(own / reference)
  means <- (log2(own) + log2(reference)) / 2
  if (!length(ratios) || max(abs(ratios)) < 1e-6) return(0)
  variances <- (1 - own) / (own * own_size) + (1 - reference) / (reference * reference_size)
  between <- function(values, trim) {
    least <- floor(length(values) * trim) + 1
    ranks <- rank(values)
    ranks >= least & ranks <= length(values) + 1 - least
  }
  kept <- between(ratios, 0.3) & between(means, 0.05)
  mean <- sum(ratios[kept] / variances[kept], na.rm = TRUE) / sum(1 / variances[kept], na.rm = TRUE)
  if (is.finite(mean)) mean * log(2) else 0
}

# The shape of fitGAM's result

#' A SingleCellExperiment of the genes that were fitted, with what tradeSeq's functions read of it.
experiment_of <- function(many, model, table, given, counts, chosen) {
  is_whole <- which(many$status == "converged" & !grepl("level_absent", many$limits))
  if (!length(is_whole)) {
    warning("no gene has a fit of all lineages: the result is a data frame", call. = FALSE)
    return(many)
  }
  parts <- model$parts
  whole <- .Call(C_many_model, fits_of(many), many$response[is_whole[1]])
  X <- .Call(C_predict, whole, table, c(type = "lpmatrix"))
  X <- array(X, dim(X), list(NULL, names_of_fitgam(colnames(X), parts$U)))
  beta <- coef.tessera_many(many)
  beta[is.nan(beta)] <- NA
  colnames(beta) <- colnames(X)
  Sigma <- rep(list(NA), nrow(many))
  is_fitted <- rowSums(!is.na(beta)) > 0
  Sigma[is_fitted] <- lapply(.Call(C_many_covariances, fits_of(many), many$response[is_fitted]), as.matrix)
  of_genes <- list(name = many$response, Sigma = Sigma, converged = many$status == "converged")
  of_genes$beta <- as_frame(list(beta = data.frame(beta)), nrow(many), NULL)
  of_cells <- list(X = X, dm = c(list(U = parts$U, "offset(offset)" = model$columns$offset), parts$smooths))
  of_cells$dm <- as_frame(of_cells$dm, nrow(X), NULL)
  of_cells$conditions <- parts$conditions

  experiment <- if (is_experiment(given)) methods::as(given, "SingleCellExperiment")
                else SingleCellExperiment::SingleCellExperiment(assays = list(counts = counts))
  if (!is.null(chosen)) experiment <- experiment[chosen, ]
  rows <- SummarizedExperiment::rowData(experiment)
  rows$tradeSeq <- as_frame(of_genes, nrow(many), many)
  columns <- SummarizedExperiment::colData(experiment)
  columns$crv <- S4Vectors::DataFrame(pseudotime = parts$times, cellWeights = parts$weights)
  columns$tradeSeq <- as_frame(of_cells, nrow(X), NULL)
  SummarizedExperiment::rowData(experiment) <- rows
  SummarizedExperiment::colData(experiment) <- columns
  S4Vectors::metadata(experiment)$tradeSeq <- list(knots = model$knots$t1)
  S4Vectors::metadata(experiment)$tessera <- many
  experiment
}

#' The names that fitGAM's coefficients have: of fixed effects, and of the smooth of a single lineage.
names_of_fitgam <- function(names, U) {
  labels <- if (!is.null(colnames(U))) colnames(U) else if (ncol(U) > 1) seq_len(ncol(U)) else ""
  names[!grepl("^s\\(", names)] <- paste0("U", labels)
  sub("^s\\(t1\\)\\.", "s(t1):l1.", names)
}
