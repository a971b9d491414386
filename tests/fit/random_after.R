# SPDX-License-Identifier: Apache-2.0
# Compares tessera-fit's commands after fits of random models with mgcv's functions, at equal coefficients: predictions
# of every kind with standard errors, smooths, tests of terms, concurvity, deviance, AIC and log likelihood. The models
# are those of random_models.R, with more bases. mgcv builds its model matrix and functions from a fit to other numbers,
# in which all fitted quantities are replaced by those of tessera-fit's model.
# Usage: Rscript random_after.R TESSERA_FIT COUNT [FIRST]; exits with 77 if mgcv is missing, and with 1, naming the
# seeds, if one differs. FIRST defaults to a number from the week.
tests <- normalizePath(dirname(sub("--file=", "", grep("--file=", commandArgs(), value=TRUE), fixed=TRUE)))
for (name in c("comparison.R", "referee.R", "random_model.R", "../data/basis/own_bases.R")) source(file.path(tests, name))
count <- as.integer(only[1])
first <- first_seed(only[2])
more_smooths <- c('s(%s, bs="cc", k=8)', 's(%s, bs="cp", k=9)', 's(%s, bs="bs", k=9)', 's(%s, bs="bs", m=c(3,1), k=9)',
                  's(%s, bs="gp", k=9)', 's(%s, bs="ds", k=9)', 's(%s, by=f, bs="gp", k=6)', 's(%s, by=v, bs="bs", k=7)')

# summary.gam with the root of the total penalty computed from the roots of each penalty: mgcv's sum loses parts below
# 1e-16 of another penalty, and its root parts below 1e-14.
root <- function(A) {
  eigen <- eigen(A, symmetric=TRUE)
  t(t(eigen$vectors)*sqrt(pmax(eigen$values, 0)))
}
exact_summary <- function(m) {
  roots <- matrix(0, 0, length(coef(m)))
  fixed <- rep(TRUE, length(coef(m)))
  k <- 0
  for (smooth in m$smooth) {
    own <- smooth$first.para:smooth$last.para
    if (isTRUE(smooth$random)) fixed[own] <- FALSE
    for (S in smooth$S) {
      k <- k + 1
      rows <- matrix(0, ncol(S), length(coef(m)))
      rows[, own] <- sqrt(m$full.sp[k])*t(root(S))
      roots <- rbind(roots, rows)
    }
  }
  within <- function(name, ...) {
    copy <- get(name, asNamespace("mgcv"))
    environment(copy) <- list2env(list(...), parent=asNamespace("mgcv"))
    copy
  }
  # If there are other random effects, only terms that are none.
  recov <- within("recov", mroot=function(A) t(roots[, ncol(A) == ncol(roots) | fixed]))
  within("summary.gam", reTest=within("reTest", recov=recov, mroot=root))(m)
}

# The object with a rounding error in each penalty.
with_errors <- function(m) {
  for (k in seq_along(m$smooth)) m$smooth[[k]]$S <- lapply(m$smooth[[k]]$S, function(S) {
    noise <- matrix(rnorm(length(S)), nrow(S))
    S + .Machine$double.eps*max(abs(S))*(noise + t(noise))/2
  })
  m
}
# mgcv keeps dependent columns of smooths.
has_all_columns <- function(m) nrow(m$back) == ncol(m$back)
# The penalties of a smooth in a model's file.
penalties_of <- function(block) {
  penalty <- block$penalty
  if (!length(penalty$labels)) return(list())
  matrix_of <- function(json) {
    if (!is.null(json$values)) return(matrix(unlist(json$values), json$rows))
    out <- matrix(0, json$rows, json$cols)
    for (entry in json$entries) out[entry[[1]] + 1, entry[[2]] + 1] <- entry[[3]]
    out
  }
  if (length(penalty$matrices)) return(lapply(penalty$matrices, matrix_of))
  columns <- function(json) { X <- matrix_of(json); lapply(seq_len(ncol(X)), function(j) X[, j]) }
  if (is.null(penalty$of_level)) return(lapply(columns(penalty$eigenvalues), function(values) diag(values, length(values))))
  lapply(columns(penalty$levels), function(of_level) kronecker(of_level %o% of_level, matrix_of(penalty$of_level)))
}

# bs="gp" and "ds" from all eigenvectors: with many points mgcv's Lanczos iteration may be off by 1e-4.
for (bs in c("gp", "ds")) {
  construct <- get(paste0("smooth.construct.", bs, ".smooth.spec"), asNamespace("mgcv"))
  environment(construct) <- list2env(list(slanczos=function(A, k, ...) {
    eigen <- eigen(A, symmetric=TRUE)
    largest <- sort(order(-abs(eigen$values))[seq_len(k)])
    list(values=eigen$values[largest], vectors=eigen$vectors[, largest])
  }), parent=asNamespace("mgcv"))
  assign(paste0("smooth.construct.all", bs, ".smooth.spec"), construct)
}

# mgcv's object of a model with tessera-fit's numbers. X: the model matrix of the rows of the fit.
object_of <- function(model, json, text=with_chosen_functions(model$formula)) {
  table <- model$table
  table$prior <- if (is.null(model$weights)) 1 else model$weights
  formula <- as.formula(text)
  response <- eval(formula[[2]], table)
  table$other <- seq_len(nrow(table))
  formula[[2]] <- quote(other)
  sp <- exp(as.numeric(unlist(lapply(json$terms, function(term) term$log_sp))))
  m <- suppressWarnings(gam(formula, data=table, select=model$select, sp=if (length(sp)) rep(1, length(sp))))
  m$X <- predict(m, table, type="lpmatrix")
  ours <- as.matrix(answer("predict", "m.json", "d.csv", "--type", "lpmatrix"))
  m$back <- back_of(m, ours, m$X)
  m$matrix_apart <- by_column(ours, m$X %*% m$back, "lpmatrix")
  if (m$matrix_apart > 1e-8 && grepl('"(gp|ds)"', text)) return(object_of(model, json, gsub('"(gp|ds)"', '"all\\1"', text)))
  m <- with_our_coefficients(m, json, m$back)

  m$family <- fix.family.link(families[[model$family]])
  theta <- theta_of(json)
  extended <- inherits(m$family, "extended.family")
  if (extended) m$family$putTheta(theta)
  m$prior.weights <- table$prior
  m$y <- if (is.matrix(response)) response[, 1]/rowSums(response) else response
  m$y[is.nan(m$y)] <- 0
  if (is.matrix(response)) m$prior.weights <- m$prior.weights*rowSums(response)
  m$linear.predictors <- drop(m$X %*% coef(m)) + m$offset
  m$fitted.values <- m$family$linkinv(m$linear.predictors)
  m$sig2 <- json$scale
  m$scale.estimated <- !model$family %in% c("binomial", "poisson", "nb", "scat", "betar", "poisson(sqrt)")
  # Constraints of t2() with nested smooths, and of select=TRUE, are bam's, not gam's.
  blocks <- Filter(function(block) !is.null(block$penalty), json$design$blocks)
  for (i in seq_along(m$smooth)) if (has_all_columns(m)) {
    own <- m$smooth[[i]]$first.para:m$smooth[[i]]$last.para
    forth <- solve(m$back[own, own])
    block <- Find(function(block) block$label == m$smooth[[i]]$label, blocks)
    m$smooth[[i]]$S <- lapply(penalties_of(block), function(S) t(forth) %*% S %*% forth)
  }
  m$full.sp <- sp

  mu <- m$fitted.values
  w <- if (extended) mgcv:::dDeta(m$y, mu, m$prior.weights, theta, m$family, 0)$EDeta2/2
    else m$prior.weights*m$family$mu.eta(m$linear.predictors)^2/m$family$variance(mu)
  start <- starts_of(table)
  whitened <- function(x) {
    x <- as.matrix(x)
    if (model$rho == 0) return(x)
    x[!start, ] <- ((x - model$rho*rbind(0, x[-nrow(x), , drop=FALSE]))/sqrt(1 - model$rho^2))[!start, ]
    x
  }
  m$R <- qr.R(qr(whitened(sqrt(w)*m$X), tol=0))
  F <- m$Vp %*% crossprod(m$R)/(if (is.null(json$covariance_scale)) json$scale else json$covariance_scale)
  m$Ve <- F %*% m$Vp
  m$edf[] <- diag(F)
  m$edf1 <- 2*m$edf - rowSums(t(F)*F)
  m$edf2 <- NULL
  m$df.residual <- length(m$y) - sum(m$edf)

  residuals <- if (extended) m$family$dev.resids(m$y, mu, m$prior.weights, theta) else m$family$dev.resids(m$y, mu, m$prior.weights)
  m$deviance <- sum(residuals)
  # As bam() has it.
  deviance <- if (json$family != "gaussian") m$sig2*sum(m$prior.weights) else sum(whitened(sqrt(m$prior.weights)*(m$y - mu))^2)
  m$aic <- 2*sum(m$edf) - 2*(if (model$rho == 0) 0 else sum(!start))*log(1/sqrt(1 - model$rho^2)) +
    # With many degrees of freedom the deviance of scat is the difference of two large numbers.
    if (json$family == "scat") -2*log_likelihood(m$family, m$y, mu, m$prior.weights, theta, m$sig2)
    else if (extended) m$family$aic(m$y, mu, theta, m$prior.weights, deviance) else m$family$aic(m$y, 1, mu, m$prior.weights, deviance)
  m
}

# Tests of terms, and figures of the fit.
anova_apart <- function(m, json) {
  run("anova", "m.json", "--json")
  found <- fromJSON("log", simplifyVector=FALSE)$models[[1]]
  out <- c()
  # With penalties of 1e10 and more, numbers are known only as well as mgcv's ways to compute them, agree.
  tests <- function(ours, theirs, rounded, what) {
    # Terms without a column here are not tested.
    if (!has_all_columns(m)) theirs <- theirs[rownames(theirs) %in% vapply(ours, function(one) one$term, ""), , drop=FALSE]
    if (!identical(as.character(rownames(theirs)), vapply(ours, function(one) one$term, ""))) stop(what, ": ", toString(rownames(theirs)))
    if (!length(ours)) return()
    known <- function(field) vapply(ours, function(one) one[[field]], 0)
    square <- function(ratio, df) if (m$scale.estimated) ratio*df else ratio
    of_table <- function(table) {
      last <- ncol(table)
      # Davies' method may end a little below 0.
      list(df=table[, last - 2], square=square(table[, last - 1], table[, last - 2]), p=pmax(table[, last], 0))
    }
    right <- of_table(theirs); rounded <- lapply(rounded, function(table) of_table(table[rownames(theirs), , drop=FALSE]))
    uncertain <- function(field) do.call(pmax, lapply(rounded, function(one) abs(one[[field]] - right[[field]])))
    beyond <- function(found, field, what, size=abs(right[[field]]))
      out[what] <<- max((abs(found - right[[field]]) - 2*uncertain(field))/size, 0)
    # For a random effect, rounding decides which eigenvalues the rank counts.
    if (max(m$full.sp, 0) < 1e8) beyond(known("df"), "df", paste0(what, ".df"))
    beyond(square(known("statistic"), known("df")), "square", what)
    beyond(known("p_value"), "p", paste0(what, ".p"), 1)
  }
  right <- exact_summary(m); rounded <- list(summary(m), summary(with_errors(m)))
  tests(found$parametric, right$pTerms.table, lapply(rounded, `[[`, "pTerms.table"), "parametric")
  # For dependent columns mgcv's tests leave out a direction that rounding chooses.
  if (has_all_columns(m)) tests(found$smooths, right$s.table, lapply(rounded, `[[`, "s.table"), "smooth")
  out["edf"] <- distance(c(found$edf, found$edf1), c(sum(m$edf), sum(m$edf1)), "edf")
  if (json$family != "betar") out["deviance"] <- distance(found$deviance, m$deviance, "deviance")
  number <- function(value) if (is.null(value)) NA else value
  out["AIC"] <- distance(number(found$aic), m$aic, "AIC")
  m$edf2 <- found$edf2
  theirs <- logLik(m)
  out["logLik"] <- distance(c(number(found$log_likelihood), found$log_likelihood_df), c(theirs, attr(theirs, "df")), "logLik")
  out
}

# The differences of a model's answers, by name; NULL if there is no model.
compare <- function(model) {
  table <- model$table
  write.csv(cbind(table, start=starts_of(table)), "d.csv", row.names=FALSE)
  run("fit", "d.csv", arguments_of(model), "--out", "m.json")
  json <- fromJSON("m.json", simplifyVector=FALSE)
  m <- object_of(model, json)
  new <- table[sample(nrow(table), 50), ]
  new$z <- 1.1*new$z
  write.csv(new, "new.csv", row.names=FALSE)
  out <- c(matrix=m$matrix_apart, predictions_apart(m, new, m$back),
           smooths_apart(m, answer("smooths", "m.json", "--points", "7", "--draws", "0"), function(rows) typed(rows, table)), anova_apart(m, json))
  if (!has_all_columns(m)) return(out)
  run("check", "m.json", "d.csv", "--json", "--permutations", "1", "--sample", "50")
  out["concurvity"] <- concurvity_apart(m, m$X, fromJSON("log")$concurvity)
  out
}
limits <- function(found) ifelse(grepl("^(parametric|smooth(|[.].*)$|concurvity|edf)", names(found)), 1e-6, 1e-8)

counts <- c("not fitted by mgcv"=0, "refused as dependent"=0)
worst <- c()
faults <- 0
for (seed in first + seq_len(count) - 1L) {
  model <- model_of(seed, more_smooths)
  found <- try(compare(model), silent=TRUE)
  if (inherits(found, "try-error")) {
    # As random_models.R has it.
    refused <- if (grepl("is linearly dependent on", found)) 2
      else if (inherits(try(bam(as.formula(model$formula), families[[model$family]], model$table, select=model$select), silent=TRUE), "try-error")) 1
    if (!is.null(refused)) { counts[refused] <- counts[refused] + 1; next }
    fault <- trimws(found)
  } else {
    worst <- c(worst, found)
    wrong <- found > limits(found)
    if (!any(wrong)) next
    fault <- paste(names(found)[wrong], signif(found[wrong], 2), collapse=", ")
  }
  cat("seed ", seed, ", ", described(model), "\n  ", fault, "\n", sep="")
  faults <- faults + 1
}
if (length(worst)) cat(sprintf("%s %.0e", unique(names(worst)), tapply(worst, factor(names(worst), unique(names(worst))), max)), "\n")
cat(faults, "of", count, "models differ, from seed", first, "on;", paste(counts, names(counts), collapse=", "), "\n")
quit(status=as.integer(faults > 0))
