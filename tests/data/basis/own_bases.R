# SPDX-License-Identifier: Apache-2.0
# Bases of mgcv with the project's choices where mgcv leaves one to rounding.

# bs="tp": the sign of each radial column is that of its first value (points by their first coordinates) that is at
# least a tenth of the largest. In mgcv the eigenvectors decide.
smooth.construct.signed.smooth.spec <- function(object, data, knots) {
  sm <- mgcv:::smooth.construct.tp.smooth.spec(object, data, knots)
  points <- setNames(as.data.frame(sweep(sm$Xu, 2, sm$shift, "+")), object$term)
  at_points <- Predict.matrix(sm, points[do.call(order, unname(points)), , drop = FALSE])
  radial <- seq_len(sm$bs.dim - sm$null.space.dim)
  signs <- c(apply(at_points[, radial, drop = FALSE], 2, function(v) sign(v[abs(v) >= 0.1 * max(abs(v))][1])),
             rep(1, sm$null.space.dim))
  sm$X <- sweep(sm$X, 2, signs, "*")
  sm$UZ <- sweep(sm$UZ, 2, signs, "*")
  sm$S[[1]] <- signs * t(signs * t(sm$S[[1]]))
  sm
}

# bs="ts" with the same signs, and bs="cs" that shrinks the constant by 0.01 and the line by 0.1: in mgcv rounding
# chooses the two functions of the null space.
smooth.construct.shrunk.smooth.spec <- function(object, data, knots) {
  sm <- smooth.construct.signed.smooth.spec(object, data, knots)
  k <- sm$bs.dim
  M <- sm$null.space.dim
  diag(sm$S[[1]])[(k - M + 1):k] <- 0.1 * eigen(sm$S[[1]], symmetric = TRUE)$values[k - M]
  sm$rank <- k
  sm$null.space.dim <- 0
  sm
}
smooth.construct.shrunken.smooth.spec <- function(object, data, knots) {
  sm <- mgcv:::smooth.construct.cr.smooth.spec(object, data, knots)
  k <- sm$bs.dim
  class(sm) <- "cs.smooth"
  free <- qr.Q(qr(cbind(1, sm$xp)))
  sm$S[[1]] <- sm$S[[1]] + eigen(sm$S[[1]], symmetric = TRUE)$values[k - 2] * free %*% (c(0.01, 0.1) * t(free))
  sm$rank <- k
  sm$null.space.dim <- 0
  sm
}
with_own_bases <- function(call) gsub('"ds"', '"dsigned"', gsub('"gp"', '"gsigned"', gsub('"cs"', '"shrunken"', gsub('"ts"', '"shrunk"', gsub('"tp"', '"signed"', call)))))

# bs="ds" and "gp" with the same signs.
with_signs <- function(sm, data) {
  points <- setNames(as.data.frame(sweep(sm$knt, 2, sm$shift, "+")), sm$term)
  at_points <- Predict.matrix(sm, points[do.call(order, unname(points)), , drop = FALSE])
  radial <- seq_len(sm$bs.dim - sm$null.space.dim)
  signs <- c(apply(at_points[, radial, drop = FALSE], 2, function(v) sign(v[abs(v) >= 0.1 * max(abs(v))][1])),
             rep(1, sm$null.space.dim))
  sm$UZ <- sweep(sm$UZ, 2, signs[radial], "*")
  sm$S <- list(signs * t(signs * t((sm$S[[1]] + t(sm$S[[1]])) / 2)))
  sm$X <- Predict.matrix(sm, data)
  sm
}
smooth.construct.dsigned.smooth.spec <- function(object, data, knots)
  with_signs(mgcv:::smooth.construct.ds.smooth.spec(object, data, knots), data)
smooth.construct.gsigned.smooth.spec <- function(object, data, knots)
  with_signs(mgcv:::smooth.construct.gp.smooth.spec(object, data, knots), data)

# bs="fs" with unpenalised functions rotated as in mgcv's decomposition without rounding: the first is the projection of
# the basis' first column on them.
turned_nat_param <- function(X, S, rank, type) {
  natural <- mgcv:::nat.param(X, S, rank=rank, type=type)
  free <- seq_len(ncol(X))[-seq_len(rank)]
  if (length(free) < 2) return(natural)
  R <- qr.R(qr(X))
  W <- qr.Q(qr(R %*% eigen(S, symmetric=TRUE)$vectors[, free]))
  rest <- t(W)
  turn <- NULL
  for (i in seq_along(free)) {
    lengths <- sqrt(colSums(rest^2))
    j <- if (i == 1) 1 else which.max(lengths)
    axis <- rest[, j]/lengths[j]
    turn <- cbind(turn, axis)
    rest <- rest - axis %*% (t(axis) %*% rest)
  }
  natural$P[, free] <- backsolve(R, W %*% turn)*sqrt(nrow(X))
  natural$X[, free] <- X %*% natural$P[, free]
  natural
}
smooth.construct.turned.smooth.spec <- mgcv:::smooth.construct.fs.smooth.spec
environment(smooth.construct.turned.smooth.spec) <- list2env(list(nat.param=turned_nat_param), parent=asNamespace("mgcv"))

# bs="shrunken", whose added constant is unpenalised, so that the constraint removes nothing penalised.
smooth.construct.freed.smooth.spec <- function(object, data, knots) {
  sm <- smooth.construct.shrunken.smooth.spec(object, data, knots)
  if (object$by != "NA" && !is.factor(data[[object$by]])) return(sm)
  constant <- rowSums(sm$S[[1]])
  sm$S[[1]] <- sm$S[[1]] - constant %o% constant/sum(constant)
  sm$rank <- sm$bs.dim - 1
  sm$null.space.dim <- 1
  sm
}
# The text of a formula with these bases in place of s(x, bs="cs") and s(x, g, bs="fs"), which mgcv leaves to rounding.
with_chosen_functions <- function(text) gsub("bs *= *[\"']fs[\"']", 'bs="turned"', gsub("bs *= *[\"']cs[\"']", 'bs="freed"', text))
