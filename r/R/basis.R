# SPDX-License-Identifier: Apache-2.0
# The raw columns of a term at given points, as docs/model.md defines them; mgcv's bases are compared with them.

#' The raw columns of a component. `points`: a list of its variables' values.
component_columns <- function(component, points) {
  x <- points[[1]]
  if (is.factor(x)) return(diag(nlevels(x))[as.integer(x), , drop = FALSE])
  if (!is.null(component$margin)) return(margin_columns(component$margin, x))
  if (!is.null(component$radial)) return(radial_columns(component$radial, x))
  if (!is.null(component$isotropic)) return(isotropic_columns(component$isotropic, do.call(cbind, unname(points))))
  matrix(as.numeric(x))
}

margin_columns <- function(margin, x) {
  breaks <- numbers(margin$breaks)
  cells <- length(breaks) - 1
  cubics <- matrix(numbers(unlist(if (is.null(margin$cells)) rep(list(margin$cell), cells) else margin$cells)), 16)
  if (margin$cyclic) {
    outside <- x < breaks[1] | x > breaks[cells + 1]
    x[outside] <- breaks[1] + (x[outside] - breaks[1]) %% (breaks[cells + 1] - breaks[1])
  }
  cell <- findInterval(x, breaks, all.inside = TRUE)
  t <- (x - breaks[cell]) / (breaks[cell + 1] - breaks[cell])
  inside <- pmin(pmax(t, 0), 1)
  # Powers of t within the cell; beyond the ends the functions continue as straight lines.
  powers <- rbind(1, t, inside^2 + 2 * inside * (t - inside), inside^3 + 3 * inside^2 * (t - inside))
  columns <- matrix(0, length(x), margin$stride * (cells - 1) + 4)
  for (a in 0:3) {
    values <- colSums(cubics[4 * a + 1:4, cell, drop = FALSE] * powers)
    columns[cbind(seq_along(x), margin$stride * (cell - 1) + a + 1)] <- values
  }
  columns
}

radial_columns <- function(radial, x) {
  u <- (x - radial$shift) / radial$unit
  points <- (numbers(radial$points) - radial$shift) / radial$unit
  r <- abs(outer(u, points, "-"))
  columns <- cbind(r * r * r / 12, 1, u) %*% dense(radial$map)
  padding <- max(8, 4 * ceiling(ncol(columns) / 4)) - ncol(columns)
  cbind(columns, matrix(0, length(x), padding))
}

isotropic_columns <- function(isotropic, x) {
  u <- sweep(x, 2, numbers(isotropic$shift))
  points <- dense(isotropic$points)
  squares <- lapply(seq_len(ncol(u)), function(v) outer(u[, v], points[, v], "-")^2)
  polynomials <- vapply(isotropic$powers, function(powers) apply(t(u)^numbers(powers), 2, prod), numeric(nrow(u)))
  cbind(distance_function(isotropic, sqrt(Reduce(`+`, squares))), matrix(polynomials, nrow(u))) %*% dense(isotropic$map)
}

distance_function <- function(isotropic, r) {
  e <- isotropic$scale * r
  switch(isotropic$`function`,
         "r^p" = isotropic$scale * r^isotropic$power,
         "r^p log r" = isotropic$scale * r^isotropic$power * log(ifelse(r > 0, r, 1)),
         "spherical" = (1 - 1.5 * e + 0.5 * e^3) * (e <= 1),
         "exponential" = exp(-e^isotropic$exponent),
         "matern 3/2" = (1 + e) * exp(-e),
         "matern 5/2" = (1 + e + e^2 / 3) * exp(-e),
         "matern 7/2" = (1 + e + 0.4 * e^2 + e^3 / 15) * exp(-e),
         usage_error("the function '", isotropic$`function`, "' of a Gaussian process smooth is not known: ",
                     "install the version that wrote the model"))
}

#' Enough points to determine a function of a component's columns: several in each cell of a spline; for a radial basis
#' its centres and points between them; all levels of a factor. Returns a list: each variable's values.
component_points <- function(component, levels, size) {
  variables <- c(component$variable, texts(component$isotropic$others))
  points <- if (!is.null(levels[[component$variable]])) {
    list(factor(levels[[component$variable]], levels = levels[[component$variable]]))
  } else if (!is.null(component$margin)) {
    breaks <- numbers(component$margin$breaks)
    cells <- length(breaks) - 1
    list(sort(c(breaks, rep(breaks[-1], each = 5) - rep(diff(breaks), each = 5) * c(0.1, 0.3, 0.5, 0.7, 0.9))))
  } else if (!is.null(component$radial)) {
    list(spread_points(matrix(numbers(component$radial$points)), max(size, component$radial$map$cols))[, 1])
  } else if (!is.null(component$isotropic)) {
    centres <- sweep(dense(component$isotropic$points), 2, numbers(component$isotropic$shift), "+")
    points <- spread_points(centres, max(size, component$isotropic$map$cols))
    lapply(seq_len(ncol(points)), function(v) points[, v])
  } else {
    list(c(1, 2))
  }
  stats::setNames(points, variables)
}

#' Some rows of `centres`, and points halfway between neighbouring rows: more points than the `size` functions need.
spread_points <- function(centres, size) {
  some <- centres[unique(round(seq(1, nrow(centres), length.out = min(nrow(centres), size)))), , drop = FALSE]
  after <- some[c(seq_len(nrow(some))[-1], 1), , drop = FALSE]
  unique(rbind(some, 0.5 * (some + after), 0.75 * some + 0.25 * after))
}
