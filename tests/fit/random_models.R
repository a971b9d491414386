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
# The last message of the program if it fails, or NULL.
failure_of <- function(...) tryCatch({ run(...); NULL }, error=function(e) tail(readLines("err"), 1))
predictions <- function(table) {
  write.csv(table, "rows.csv", row.names=FALSE)
  if (is.null(failure_of("predict", "model.json", "rows.csv", "--se", "--out", "predictions.csv"))) read.csv("predictions.csv")
}
# The measures that are worse; empty if none is.
fault_of <- function(seed) {
  model <- model_of(seed)
  what <- paste0("seed ", seed, ", ", described(model))
  fits <- fits_of(model)
  theirs <- tryCatch(fits$best(), error=function(e) NULL)
  # bam reports convergence if its iteration alternates until its end: such an answer is not a solution.
  if (is.null(theirs) || !theirs$converged || isTRUE(theirs$iter >= control$maxit)) {
    counts["not fitted by mgcv"] <<- counts["not fitted by mgcv"] + 1
    return(NULL)
  }
  write.csv(cbind(model$table, start=starts_of(model$table)), "table.csv", row.names=FALSE)
  failure <- failure_of("fit", "table.csv", arguments_of(model), "--out", "model.json")
  if (!is.null(failure)) {
    # A column of te() that a parametric term or a smooth with a numeric by= also has: mgcv drops one of them.
    if (!grepl("is linearly dependent on", failure)) return(paste0(what, "\n  ", failure))
    counts["refused as dependent"] <<- counts["refused as dependent"] + 1
    return(NULL)
  }
  others <- model$table[sample(nrow(model$table), 50), ]
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
  referee <- worse_by(fits, theirs, here[[1]], ours, theta_of(saved))
  if (is.null(referee)) return(NULL)
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
