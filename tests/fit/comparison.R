# SPDX-License-Identifier: Apache-2.0
# Common start and functions of the scripts that compare commands after a fit with mgcv. They take a program and further
# arguments, work in a folder of their own, and are skipped if mgcv is missing.
if (!all(vapply(c("mgcv", "jsonlite"), requireNamespace, NA, quietly = TRUE))) {
  cat("R has no mgcv or jsonlite: nothing is compared\n")
  quit(status = 77)
}
suppressMessages({library(mgcv); library(jsonlite)})
program <- normalizePath(commandArgs(TRUE)[1])
only <- commandArgs(TRUE)[-1]
folder <- tempfile(); dir.create(folder); setwd(folder)

# Whether the next model is compared: those named by arguments, all without, and after `third` every third, others each week.
models_seen <- 0
is_taken <- function(name) {
  models_seen <<- models_seen + 1
  if (identical(only, "third")) models_seen %% 3 == as.integer(Sys.Date()) %/% 7 %% 3 else !length(only) || name %in% only
}
# Runs the program; stops with its message if it fails.
run <- function(...) {
  arguments <- c(...); status <- system2(program, shQuote(arguments), stdout = "log", stderr = "err")
  if (status != 0) stop(paste(c(arguments[1], grep("^tessera-fit: ", readLines("err"), value = TRUE)), collapse = " "))
}
# The table that a command writes.
answer <- function(...) { run(..., "--out", "a.csv"); read.csv("a.csv", check.names = FALSE, stringsAsFactors = TRUE) }
# The largest differences of the columns of two tables, relative to the largest value of each.
by_column <- function(ours, theirs, what) {
  ours <- as.matrix(ours); theirs <- as.matrix(theirs)
  if (!identical(dim(ours), dim(theirs))) stop(what, ": ", ncol(ours), " columns in place of ", ncol(theirs))
  if (!identical(is.na(unname(ours)), is.na(unname(theirs)))) stop(what, ": NA elsewhere")
  worst <- 0
  for (j in seq_len(ncol(ours))) {
    range <- max(abs(theirs[, j]), 1e-300, na.rm = TRUE)
    worst <- max(worst, abs(ours[, j] - theirs[, j]) / range, na.rm = TRUE)
  }
  worst
}
# The same for two vectors, relative to `size`.
distance <- function(ours, theirs, what, size = abs(theirs)) {
  if (length(ours) != length(theirs)) stop(what, ": ", length(ours), " in place of ", length(theirs))
  ours <- as.numeric(ours); theirs <- as.numeric(theirs)
  if (!identical(is.na(ours), is.na(theirs))) stop(what, ": NA elsewhere")
  max(abs(ours - theirs) / pmax(size, 1e-300), 0, na.rm = TRUE)
}

# The matrix B with theirs B = ours, for model matrices of the rows of the fit: the signs, and for factor smooths the
# rotation, which mgcv leaves to a decomposition; and our columns of a smooth in terms of dependent ones mgcv keeps.
back_of <- function(m, ours, theirs) {
  back <- matrix(0, ncol(theirs), ncol(ours)); all <- ncol(ours) == ncol(theirs)
  place <- function(smooth) if (all) smooth$first.para:smooth$last.para else which(sub("[.][0-9]+$", "", colnames(ours)) == smooth$label)
  places <- lapply(m$smooth, place); own <- setdiff(seq_len(ncol(ours)), unlist(places))
  back[cbind(if (all) own else match(colnames(ours)[own], names(coef(m))), own)] <- 1
  for (i in seq_along(places)) {
    smooth <- m$smooth[[i]]; at <- smooth$first.para:smooth$last.para; own <- places[[i]]
    stack <- function(X, at) { k <- length(at) / length(smooth$flev)
      do.call(rbind, lapply(seq_along(smooth$flev), function(l) X[, at[(l - 1) * k + seq_len(k)], drop = FALSE])) }
    back[at, own] <- if (inherits(smooth, "fs.interaction")) kronecker(diag(length(smooth$flev)), qr.solve(stack(theirs, at), stack(ours, own)))
      else if (length(own) < length(at)) qr.solve(theirs[, at], ours[, own])
      else diag(ifelse(colSums(ours[, own, drop = FALSE] * theirs[, at, drop = FALSE]) < 0, -1, 1), length(at))
  }
  back
}
# The smoothing parameters of tessera-fit's model, with which gam() searches for none.
sp_of <- function(json) {
  sp <- exp(as.numeric(unlist(lapply(json$terms, function(term) term$log_sp))))
  if (length(sp)) sp
}
# mgcv's object with the coefficients, and their covariance, of tessera-fit's model.
with_our_coefficients <- function(m, json, back) {
  b <- sapply(json$coefficients, function(one) one$value); V <- matrix(unlist(json$covariance$columns), length(b))
  m$coefficients[] <- back %*% b; m$Vp <- back %*% V %*% t(back)
  m
}
# The parameters of a model's family as mgcv has them while it estimates them, or NULL.
theta_of <- function(json) {
  value <- sapply(json$family_parameters, function(one) one$value)
  switch(json$family, nb = log(value[1]), tw = log((value[1] - value[3]) / (value[4] - value[1])), scat = log(c(value[1] - value[3], value[2])),
         betar = log(value[1]))
}

# Predictions of every kind for the rows `new` of new.csv. `labels`: tessera-fit's of mgcv's terms.
predictions_apart <- function(m, new, back, labels = identity) {
  predicted <- function(...) answer("predict", "m.json", "new.csv", ...)
  out <- c(lpmatrix = by_column(predicted("--type", "lpmatrix"), predict(m, new, type = "lpmatrix") %*% back, "lpmatrix"))
  for (type in c("link", "response", "terms", "iterms")) {
    theirs <- predict(m, new, type = type, se.fit = TRUE); found <- predicted("--type", type, "--se")
    odd <- seq(1, by = 2, length.out = ncol(found) / 2)
    if (type %in% c("terms", "iterms")) {
      # A term whose columns all depend on others is absent here, and zero there.
      zero <- colSums(abs(theirs$fit) + theirs$se.fit, na.rm = TRUE) == 0 & !labels(colnames(theirs$fit)) %in% names(found)
      theirs <- lapply(theirs[c("fit", "se.fit")], function(one) one[, !zero, drop = FALSE])
      if (!identical(names(found)[odd], labels(colnames(theirs$fit)))) stop(type, ": ", toString(names(found)[odd]), " in place of ", toString(labels(colnames(theirs$fit))))
    }
    out[type] <- by_column(found[odd], theirs$fit, type); out[paste0(type, ".se")] <- by_column(found[odd + 1], theirs$se.fit, paste(type, "se"))
  }
  out
}

# The part of the model matrix in a row of a smooth, and its estimate.
columns_of <- function(m, smooth, rows) {
  X <- matrix(0, nrow(rows), length(coef(m)))
  X[, smooth$first.para:smooth$last.para] <- PredictMat(smooth, rows)
  X
}
estimate <- function(m, X) list(fit = drop(X %*% coef(m)), se = sqrt(pmax(0, rowSums((X %*% m$Vp) * X))))
of_estimate <- function(ours, theirs, se = theirs) max(abs(ours - theirs)) / max(abs(theirs), abs(se), 1e-300)
# Rows of an answer, with factors as in the table `d`.
typed <- function(rows, d) {
  for (v in intersect(names(rows), names(d))) if (is.factor(d[[v]])) rows[[v]] <- factor(as.character(rows[[v]]), levels = levels(d[[v]]), ordered = is.ordered(d[[v]]))
  rows
}
smooth_named <- function(m, label, labels = identity) Find(function(s) labels(s$label) == label, m$smooth)
# The smooths of an answer `a`. Calls `each(rows, X, theirs)` for each.
smooths_apart <- function(m, a, typed, labels = identity, each = function(...) NULL) {
  out <- c(smooths = 0, se = 0)
  if (!setequal(unique(as.character(a$smooth)), labels(sapply(m$smooth, `[[`, "label")))) stop("smooths: ", toString(unique(a$smooth)))
  for (label in unique(as.character(a$smooth))) {
    rows <- typed(a[a$smooth == label, ]); X <- columns_of(m, smooth_named(m, label, labels), rows); theirs <- estimate(m, X)
    out["smooths"] <- max(out["smooths"], of_estimate(rows$fit, theirs$fit, theirs$se))
    out["se"] <- max(out["se"], of_estimate(rows$se, theirs$se), of_estimate((rows$upper - rows$lower) / 2, qnorm(.975) * theirs$se))
    each(label, rows, X, theirs)
  }
  out
}

# mgcv's component "para" is only the first column: it has `1:0` in place of all parametric ones.
text <- deparse(mgcv:::concurvity)
stopifnot(sum(grepl("stop <- c(min(start) - 1, stop)", text, fixed = TRUE)) == 1)
concurvity <- eval(parse(text = gsub("stop <- c(min(start) - 1, stop)", "stop <- c(min(start[-1]) - 1, stop)", text, fixed = TRUE)))
# For dependent columns mgcv's decomposition has a direction that rounding chooses: compares bases of their spans.
projected <- function(X, j, i, coef) {
  basis <- function(at) { q <- qr(scale(X[, at, drop = FALSE], FALSE, sqrt(colSums(X[, at, drop = FALSE]^2))), tol = 1e-10); qr.Q(q)[, seq_len(q$rank), drop = FALSE] }
  by <- basis(i); own <- basis(j)
  if (ncol(by) == length(i) && ncol(own) == length(j)) return(NULL)
  all <- X[, j, drop = FALSE]; top <- crossprod(by, all)
  c(svd(crossprod(by, own))$d[1]^2, sum((top %*% coef[j])^2) / sum((all %*% coef[j])^2), sum(top^2) / sum(all^2))
}
# The concurvity from a check, for the model matrix X.
concurvity_apart <- function(m, X, found) {
  whole <- concurvity(m); pairwise <- concurvity(m, full = FALSE)
  if (!identical(colnames(whole), found$terms)) stop("concurvity: ", toString(found$terms))
  parts <- lapply(m$smooth, function(s) s$first.para:s$last.para)
  if ("para" %in% colnames(whole)) parts <- c(list(seq_len(m$nsdf)), parts)
  for (j in seq_along(parts)) {
    own <- projected(X, parts[[j]], setdiff(seq_len(ncol(X)), parts[[j]]), coef(m))
    if (!is.null(own)) whole[, j] <- own
    for (i in seq_along(parts)) if (i != j) {
      own <- projected(X, parts[[j]], parts[[i]], coef(m))
      if (!is.null(own)) for (k in 1:3) pairwise[[k]][i, j] <- own[k]
    }
  }
  apart <- 0
  for (measure in rownames(whole)) apart <- max(apart, distance(found$whole[[measure]], whole[measure, ], "concurvity", 1),
    distance(found$pairwise[[measure]], pairwise[[measure]], "pairwise", 1))
  apart
}
