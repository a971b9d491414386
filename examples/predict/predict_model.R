# SPDX-License-Identifier: Apache-2.0
# Predictions of a model.json of tessera-fit, by base R; docs/model.md says what its fields are.
#
#     predict_model(jsonlite::fromJSON("model.json", simplifyVector = FALSE), data.frame(x = c(0.1, 0.2), g = c("a", "b")), "response")
#
# A variable that the formula computes, as log(x), is wanted as a column of that name (check.names = FALSE). Refused by name:
# Gaussian process smooths, and means by other links than identity, log and logit.
least <- log(.Machine$double.eps)
means <- list(identity = function(eta) eta, log = function(eta) exp(pmax(eta, least)),
              logit = function(eta) plogis(ifelse(eta < -30, least, ifelse(eta > 30, -least, eta))))
radial <- list("r^p" = function(r, p) r^p, "r^p log r" = function(r, p) r^p * log(ifelse(r > 0, r, 1)))

predict_model <- function(model, data, type = "link") {
  link <- if (type == "response") model$link else "identity"
  if (model$format != "tessera-fit model" || model$version > 6) stop("this is no model of a version that is known here")
  if (is.null(means[[link]]) || (type == "response" && !is.null(model$family_toml)))
    stop("the link ", link, " of the family ", model$family, " is not known here: predict with tessera-fit")
  if (grepl("offset(", model$formula, fixed = TRUE) && is.null(model$formula_offsets)) stop("the model does not tell its offsets: fit it again")
  coefficients <- sapply(model$coefficients, function(one) one$value)
  levels <- list()
  for (one in model$design$variables) levels[[one$name]] <- unlist(one$levels)
  terms <- lapply(model$design$terms, raw_columns, data, levels)
  begins <- cumsum(c(0, sapply(terms, function(term) term$size)))
  raw <- numeric(tail(begins, 1)); first <- 0; known <- lapply(terms, function(term) integer(0)); used <- integer(0)
  for (block in model$design$blocks) {
    copies <- if (is.null(block$copies)) 1 else block$copies
    own <- matrix(coefficients[first + seq_along(block$names)], ncol = copies); first <- first + length(own)
    of_raw <- times(block$map, own); raw[block$raw_begin + seq_along(of_raw)] <- of_raw
    t <- findInterval(block$raw_begin, begins); used <- c(used, t)
    of_all <- is.null(block$penalty) || block$kind %in% c("fs", "sz")
    districts <- vapply(model$design$terms[[t]], function(part) isTRUE(part$districts), NA)
    places <- seq_along(terms[[t]]$unseen)
    known[[t]] <- c(known[[t]], places[of_all | districts | (places == 1 & block$by_level != "")])
  }
  eta <- numeric(nrow(data))
  for (name in model$formula_offsets) eta <- eta + column(data, name)
  for (t in unique(used)) {
    eta <- eta + rowSums(terms[[t]]$values * raw[begins[t] + terms[[t]]$places])
    for (part in unique(known[[t]])) eta[terms[[t]]$unseen[[part]]] <- NA
  }
  means[[link]](eta)
}

# The columns of a term that are not zero in a row: their places, from 1, and values; where levels are unseen; their number.
raw_columns <- function(term, data, levels) {
  all <- list(places = matrix(1, nrow(data), 1), values = matrix(1, nrow(data), 1), size = 1, unseen = list())
  for (part in term) {  # a Kronecker product, the last component fastest
    own <- component(part, data, levels)
    a <- rep(seq_len(ncol(all$values)), each = ncol(own$values)); b <- rep(seq_len(ncol(own$values)), ncol(all$values))
    all <- list(places = (all$places[, a, drop = FALSE] - 1) * own$size + own$places[, b, drop = FALSE],
                values = all$values[, a, drop = FALSE] * own$values[, b, drop = FALSE], size = all$size * own$size,
                unseen = c(all$unseen, list(!is.null(levels[[part$variable]]) & own$values[, 1] %in% 0)))
  }
  all
}

component <- function(part, data, levels) {
  x <- column(data, part$variable); n <- length(x)
  if (!is.null(own <- levels[[part$variable]])) {
    code <- match(as.character(x), own)
    return(list(places = matrix(ifelse(is.na(code), 1, code)), values = matrix(ifelse(is.na(x), NA, !is.na(code)) + 0), size = length(own)))
  }
  if (!is.null(margin <- part$margin)) {
    breaks <- unlist(margin$breaks); cells <- length(breaks) - 1; low <- breaks[1]; high <- breaks[cells + 1]
    if (margin$cyclic) x <- ifelse(x < low | x > high, low + (x - low) %% (high - low), x)
    cell <- findInterval(x, breaks, all.inside = TRUE); cell[is.na(x)] <- 1
    t <- (x - breaks[cell]) / (breaks[cell + 1] - breaks[cell]); inside <- pmin(pmax(t, 0), 1)
    cubics <- matrix(unlist(if (is.null(margin$cells)) rep(list(margin$cell), cells) else margin$cells), 16)[, cell, drop = FALSE]
    powers <- rbind(1, inside + (t - inside), inside^2 + 2 * inside * (t - inside), inside^3 + 3 * inside^2 * (t - inside))
    values <- sapply(0:3, function(a) colSums(cubics[4 * a + 1:4, , drop = FALSE] * powers))
    return(list(places = outer(margin$stride * (cell - 1), 1:4, "+"), values = matrix(values, n), size = margin$stride * (cells - 1) + 4))
  }
  values <- matrix(as.numeric(x))
  if (!is.null(spline <- part$radial)) {
    u <- (values - spline$shift) / spline$unit; points <- (unlist(spline$points) - spline$shift) / spline$unit
    values <- cbind(abs(outer(u[, 1], points, "-"))^3 / 12, 1, u) %*% dense(spline$map)
  } else if (!is.null(spline <- part$isotropic)) {
    if (is.null(radial[[spline$`function`]])) stop("the function ", spline$`function`, " of a Gaussian process smooth is not known here: predict with tessera-fit")
    u <- sweep(cbind(values, sapply(spline$others, function(name) column(data, name))), 2, unlist(spline$shift)); points <- dense(spline$points)
    r <- sqrt(Reduce(`+`, lapply(seq_len(ncol(u)), function(v) outer(u[, v], points[, v], "-")^2)))
    polynomials <- sapply(spline$powers, function(powers) Reduce(`*`, lapply(seq_along(powers), function(v) u[, v]^powers[[v]])))
    values <- cbind(spline$scale * radial[[spline$`function`]](r, spline$power), matrix(polynomials, n)) %*% dense(spline$map)
  }
  size <- if (is.null(part$radial)) ncol(values) else max(8, 4 * ceiling(ncol(values) / 4))  # the last ones are zero
  list(places = matrix(seq_len(ncol(values)), n, ncol(values), byrow = TRUE), values = values, size = size)
}

column <- function(data, name) {
  name <- gsub("^`|`$", "", name)
  if (!name %in% names(data)) stop("the data have no column ", name, ": expressions are not computed here, so it has to be one")
  data[[name]]
}

# The product of a matrix and others.
times <- function(matrix, other) {
  if (!is.null(matrix$values)) return(array(unlist(matrix$values), c(matrix$rows, matrix$cols)) %*% other)
  product <- array(0, c(matrix$rows, ncol(other)))
  for (one in matrix$entries) product[one[[1]] + 1, ] <- product[one[[1]] + 1, ] + one[[3]] * other[one[[2]] + 1, ]
  product
}
dense <- function(matrix) times(matrix, diag(matrix$cols))
