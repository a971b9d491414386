# SPDX-License-Identifier: Apache-2.0
# Compares random models fitted by tessera-fit with mgcv's fits: linear predictors, standard errors and predictions for
# other rows. Gaussian models with nested smooths are compared with gam(method="REML"), which has their constraints, and
# others with bam, which may stop early where its criterion is flat, or at another of several optima: where they differ,
# the REML criterion at both smoothing parameters decides, and ours must not be worse. For bs="cs" and "fs" mgcv is
# given our choice of the functions that it leaves to rounding. bam has no joint criterion for families with parameters:
# one further iteration of it must not move our answer by more than its own, or the criterion by Laplace's
# approximation, with the likelihood of the parameters, must be lower. gam constrains t2() only by its unpenalised
# columns, which changes the columns that nested smooths lose: these are compared with bam.
# Usage: Rscript random_models.R TESSERA_FIT COUNT [FIRST]; exits with 77 if mgcv is missing, and with 1, naming the
# seeds, if a model is worse. FIRST defaults to a number from the week.
tests <- normalizePath(dirname(sub("--file=", "", grep("--file=", commandArgs(), value=TRUE), fixed=TRUE)))
for (name in c("comparison.R", "referee.R", "random_model.R", "../data/basis/own_bases.R")) source(file.path(tests, name))
count <- as.integer(only[1])
first <- first_seed(only[2])
control <- gam.control(epsilon=1e-12, maxit=400)
# The working model of bam at a linear predictor: parameters at its means, and weights of expected information.
working_model <- function(eta, theta, family, formula, table) {
  family <- fix.family.link(family)
  family$putTheta(theta)
  mu <- family$linkinv(eta)
  scale <- if (is.null(family$scale)) 1 else family$scale
  response <- eval(formula[[2]], table)
  likeliest <- mgcv:::estimate.theta(theta, family, response, mu, scale=scale, wt=table$prior)
  if (scale < 0) scale <- exp(likeliest[family$n.theta + 1])
  step <- mgcv:::dDeta(response, mu, table$prior, theta=likeliest[seq_len(family$n.theta)], family, 0)
  table$working <- as.numeric(eta - step$Deta.EDeta2)
  table$working_weight <- as.numeric(step$EDeta2/2)
  formula[[2]] <- quote(working)
  list(formula=formula, table=table, scale=scale)
}
# How far one iteration of bam moves the linear predictor of a working model.
moved <- function(eta, working) {
  end <- bam(working$formula, data=working$table, weights=working_weight, scale=working$scale, control=control, chunk.size=1e6)
  max(abs(fitted(end) - eta))
}
# The last message of the program if it fails, or NULL.
failure_of <- function(...) tryCatch({ run(...); NULL }, error=function(e) tail(readLines("err"), 1))
predictions <- function(table) {
  write.csv(table, "rows.csv", row.names=FALSE)
  if (is.null(failure_of("predict", "model.json", "rows.csv", "--se", "--out", "predictions.csv"))) read.csv("predictions.csv")
}
# The measures that are worse; empty if none is.
fault_of <- function(seed) {
  model <- model_of(seed)
  table <- model$table
  what <- paste0("seed ", seed, ", ", described(model))
  table$prior <- if (is.null(model$weights)) 1 else model$weights
  formula <- as.formula(with_chosen_functions(model$formula))
  family <- families[[model$family]]
  by_gam <- function(family, ...)
    gam(formula, family=family, data=table, weights=prior, control=control, method="REML", select=model$select, gamma=model$gamma, ...)
  table$start <- starts_of(table)
  by_bam <- function(...) bam(formula, family=family, data=table, weights=prior, control=control, chunk.size=1e6, select=model$select,
                              gamma=model$gamma, rho=model$rho, AR.start=start, ...)
  theirs <- tryCatch(if (model$family == "gaussian" && model$nested) by_gam(family) else by_bam(), error=function(e) NULL)
  # bam reports convergence if its iteration alternates until its end: such an answer is not a solution.
  if (is.null(theirs) || !theirs$converged || isTRUE(theirs$iter >= control$maxit)) {
    counts["not fitted by mgcv"] <<- counts["not fitted by mgcv"] + 1
    return(NULL)
  }
  write.csv(cbind(model$table, start=table$start), "table.csv", row.names=FALSE)
  failure <- failure_of("fit", "table.csv", arguments_of(model), "--out", "model.json")
  if (!is.null(failure)) {
    # A column of te() that a parametric term or a smooth with a numeric by= also has: mgcv drops one of them.
    if (!grepl("is linearly dependent on", failure)) return(paste0(what, "\n  ", failure))
    counts["refused as dependent"] <<- counts["refused as dependent"] + 1
    return(NULL)
  }
  others <- model$table[sample(nrow(table), 50), ]
  others$z <- 1.1*others$z
  here <- predictions(model$table)
  there <- predictions(others)
  if (is.null(here) || is.null(there)) return(paste0(what, "\n  ", tail(readLines("err"), 1)))
  expected <- predict(theirs, se.fit=TRUE)
  range <- diff(range(expected$fit))
  differences <- c(fit=max(abs(here[[1]] - expected$fit))/range, se=max(abs(here[[2]]/expected$se.fit - 1))/10,
                   predictions=max(abs(there[[1]] - predict(theirs, others)))/range)
  if (all(differences < 1e-5)) return(NULL)
  counts["settled by the referee"] <<- counts["settled by the referee"] + 1
  saved <- fromJSON("model.json", simplifyVector=FALSE)
  ours <- exp(unlist(lapply(saved$terms, function(term) term$log_sp)))
  if (inherits(family, "extended.family")) {
    their_theta <- theirs$family$getTheta()  # a working model sets it
    at_ours <- working_model(here[[1]], theta_of(saved), family, formula, table)
    at_theirs <- working_model(as.numeric(expected$fit), their_theta, family, formula, table)
    moves <- c(moved(here[[1]], at_ours), moved(expected$fit, at_theirs))/range
    if (moves[1] < max(moves[2], 1e-6)) return(NULL)
    setup <- by_bam(fit=FALSE)
    at <- function(eta, sp, theta, scale) criterion_at(eta, sp, setup, theirs, model$gamma, theta, scale)
    excess <- at(here[[1]], ours, theta_of(saved), at_ours$scale) -
      at(expected$fit, theirs$sp, their_theta, at_theirs$scale)
    referee <- paste("one iteration of bam moves it by", signif(moves[1], 2), "and bam's answer by", signif(moves[2], 2))
  } else {
    own <- if (is.null(theirs$full.sp)) theirs$sp else theirs$full.sp
    if (model$rho != 0) {
      by <- if (model$family == "gaussian" && model$nested) function(sp) by_gam(family, sp=sp) else function(sp) by_bam(sp=sp)
      excess <- by(ours)$gcv.ubre - by(own)$gcv.ubre
    } else {
      setup <- if (model$family == "gaussian" && model$nested) by_gam(family, fit=FALSE) else by_bam(fit=FALSE)
      at <- function(eta, sp) criterion_at(as.numeric(eta), sp, setup, theirs, model$gamma)
      excess <- at(here[[1]], ours) - at(expected$fit, own)
    }
    referee <- NULL
  }
  if (excess < 1e-4) return(NULL)
  referee <- paste(c(referee, paste("REML criterion higher by", signif(excess, 2))), collapse=", ")
  paste0(what, "\n  ", paste(names(differences), signif(differences, 2), collapse=", "), "; ", referee)
}
counts <- c("not fitted by mgcv"=0, "refused as dependent"=0, "settled by the referee"=0)
faults <- 0
for (seed in first + seq_len(count) - 1L) {
  fault <- suppressWarnings(fault_of(seed))
  if (!is.null(fault)) {
    cat(fault, "\n")
    faults <- faults + 1
  }
}
cat(faults, "of", count, "models are worse, from seed", first, "on;", paste(counts, names(counts), collapse=", "), "\n")
quit(status=as.integer(faults > 0))
