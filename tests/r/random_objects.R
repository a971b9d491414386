# SPDX-License-Identifier: Apache-2.0
# Objects of random models, of every kind of smooth, with data and without: against the engine's own output, and against
# mgcv's fits of them. Usage: Rscript random_objects.R ROOT COUNT [FIRST]; exits with 1, naming the seeds, if an object
# is wrong. FIRST comes from the number of the week unless it is given.
library(tessera)
suppressMessages(library(mgcv))
arguments <- commandArgs(TRUE)
for (name in c("fit/random_model.R", "fit/referee.R", "data/basis/own_bases.R")) {
  source(file.path(arguments[1], "tests", name))
}
source(file.path(arguments[1], "r/tests/support/objects.R"))
count <- as.integer(arguments[2])
first <- first_seed(arguments[3])

more <- c('s(%s, bs="cc", k=8)', 's(%s, bs="cp", k=9)', 's(%s, bs="bs", k=9)', 's(%s, bs="bs", m=c(3, 1), k=9)',
          's(%s, bs="gp", k=9)', 's(%s, bs="ds", k=9)', 's(%s, by=ordered(o), k=6)', 's(%s, by=f, bs="gp", k=6)',
          's(%s, by=v, bs="bs", k=7)', 'ti(%s, w, k=4)')
surfaces <- c('s(u, v, bs="ds", k=20)', 's(u, v, bs="gp", k=20)', 's(u, v, bs="ts", k=20)',
              's(u, v, bs="ds", m=c(1, .5), k=20)', 'te(u, v, by=f, k=4)', 'te(u, v, bs=c("cc", "ps"), k=5)',
              'te(u, v, w, d=c(2, 1), bs=c("tp", "cr"), k=c(9, 3))', 'te(u, g, bs=c("cr", "re"), k=4)',
              't2(u, v, bs="cr", k=5)', "s(u, v, by=w, k=15)", 's(g, v, bs="re")', 's(f, g, bs="re")',
              's(f, u, v, bs="sz", k=10)', 's(u, v, g, bs="fs", k=6)', "s(v, w, u, k=15)")
sizes <- c(300, 300, 600, 600, 600, 600, 1500, 1500, 1500, 4000, 4000, 20000)

#' The engine's model: its pointer and its file; a text where it refuses.
fit_of <- function(model, table) {
  options <- c(family = model$family, if (!is.null(model$weights)) c(weights = "w"),
               if (model$select) c(select = "true"), if (model$gamma != 1) c(gamma = model$gamma),
               if (model$rho != 0) c(rho = model$rho, "ar-start" = "start"))
  tryCatch({
    pointer <- .Call(engine$C_fit, model$formula, .Call(engine$C_table, table), options, NULL)
    file <- tempfile(fileext = ".json")
    .Call(engine$C_save, pointer, file)
    list(pointer = pointer, file = file)
  }, error = conditionMessage)
}

#' The same by tessera_bam, to the bit.
same_call <- function(model, table, m) {
  formula <- as.formula(model$formula)
  weighted <- !is.null(model$weights)
  family <- unserialize(new_families)[[model$family]]
  m1 <- tessera_bam(formula, family, data = table, weights = if (weighted) w, select = model$select,
                    gamma = model$gamma, rho = model$rho, AR.start = if (model$rho != 0) start, quiet = TRUE)
  alike <- setdiff(names(m), c("call", "control", "formula", "terms", "family"))
  differing <- alike[!mapply(function(x, y) isTRUE(all.equal(x, y)), m1[alike], m[alike])]
  holds(paste("tessera_bam:", toString(differing)), !length(differing))
}

#' What is known to differ from mgcv's object (r/tests/differences.R): the null deviance of a model with an offset,
#' which bam leaves out; gam.vcomp, which fails of smooths without a penalty.
unlike_of <- function(model) {
  has <- function(text) grepl(text, model$formula, fixed = TRUE)
  c(if (has("offset")) "null.deviance", if (has("fx=TRUE")) "gam.vcomp")
}

# bam leaves the parameters of a fit in its family's environment, and another fit begins there.
new_families <- serialize(families, NULL)

counts <- c("refused as dependent" = 0, "not fitted by mgcv" = 0, "settled by the referee" = 0)
count_one <- function(what) counts[what] <<- counts[what] + 1

#' The points of the model's thin plates and like splines, as knots for mgcv, by their variables. Of more than 10,000
#' rows the engine draws them from a sample, as bam with its usual chunk.size, while other knots are of all rows.
points_of <- function(m) {
  knots <- list()
  for (part in unlist(lapply(m$smooth, function(s) if (length(s$margin)) s$margin else list(s)), recursive = FALSE)) {
    points <- if (is.null(part$Xu)) part$knt else part$Xu
    if (is.null(points)) next
    terms <- setdiff(part$term, part$fterm)
    points <- sweep(as.matrix(points), 2, as.numeric(part$shift), "+")
    knots[terms] <- lapply(seq_along(terms), function(j) points[, j])
  }
  knots
}

#' The model's smooths of points in natural coordinates, which depend on the same rows: those of other rows have
#' penalties on other functions.
natural_smooths_of <- function(m) {
  Filter(function(s) inherits(s, c("fs.interaction", "t2.smooth")) && length(points_of(list(smooth = list(s)))), m$smooth)
}

#' Against mgcv's fit of the model, as the referee has it.
same_as_mgcv <- function(model, m) {
  fits <- if (nrow(model$table) > 10000) fits_of(model, points_of(m), natural_smooths_of(m)) else fits_of(model)
  theirs <- suppressWarnings(tryCatch(fits$best(), error = function(e) NULL))
  # bam reports convergence if its iteration alternates until its end: such an answer is not a solution.
  if (is.null(theirs) || !theirs$converged || isTRUE(theirs$iter >= control$maxit)) {
    return(count_one("not fitted by mgcv"))
  }
  decide <- function() {
    count_one("settled by the referee")
    sp <- if (is.null(m$full.sp)) m$sp else m$full.sp
    suppressWarnings(worse_by(fits, theirs, as.numeric(m$linear.predictors), sp, m$family$getTheta()))
  }
  if (!inherits(theirs, "bam") && length(m$sp)) theirs$edf2 <- suppressWarnings(edf2_of_bam(fits, theirs))
  same_as_bam("beside mgcv", m, theirs, unlike_of(model), decide)
  # The constraint of t2() is bam's, which gam's is not.
  if (inherits(theirs, "bam") && length(m$smooth) && !grepl("t2(", model$formula, fixed = TRUE)) {
    setup <- suppressWarnings(fits$gam(fit = FALSE))
    own <- structure(list(X = setup$X, smooth = setup$smooth), class = c("gam_setup", "gam"))
    holds("estimate of concurvity beside gam", all(concurvity_apart(m, own)["estimate"] < 1e-5))
  }
}
#' The columns of gam's setup, in whose coordinates the estimate of concurvity is.
model.matrix.gam_setup <- function(object, ...) object$X

for (seed in first + seq_len(count) - 1L) {
  model <- model_of(seed, more, surfaces, sizes)
  table <- model$table
  table$start <- starts_of(table)
  fit <- fit_of(model, table)
  if (is.character(fit)) {
    # A column of te() that a parametric term or a smooth with a numeric by= also has: mgcv drops one of them.
    if (grepl("is linearly dependent on", fit)) {
      count_one("refused as dependent")
    } else {
      faults <- c(faults, fit)
      writeLines(c(paste0("seed ", seed, ", ", described(model)), paste0("  ", fit)))
    }
    next
  }
  before <- length(faults)
  tryCatch({
    m <- read_tessera(fit$file, data = table)
    m0 <- read_tessera(fit$file)
    others <- table[sample(nrow(table), 40), ]
    others$z <- 1.05 * others$z
    for (what in c("with", "without")) {
      object <- if (what == "with") m else m0
      same_predictions(what, object, fit, others)
      same_summary(what, object, fit)
    }
    same_without_rows("", m, m0)
    same_rows("", m, fit, table)
    same_pictures("", m, m0)
    same_call(model, table, m)
    same_as_mgcv(model, m)
  }, error = function(e) faults <<- c(faults, conditionMessage(e)))
  if (length(faults) > before) {
    writeLines(c(paste0("seed ", seed, ", ", described(model)), paste0("  ", tail(faults, length(faults) - before))))
  }
  unlink(fit$file)
}
cat(count, "models from seed", first, "on;", paste(counts, names(counts), collapse = ", "), "\n")
if (length(faults)) quit(status = 1)
