# SPDX-License-Identifier: Apache-2.0
# Compares calls of bam() and gam() by tessera-fit, with the text of the formula unchanged, with mgcv's fits: linear
# predictors, standard errors and degrees of freedom. Gaussian models are compared with gam(method="REML"), which has
# their constraints, and others, with AR1 residuals too, with bam. Both may stop at one of several optima, or early
# where the criterion is flat: where they differ, the REML criterion at both smoothing parameters decides if possible
# (referee.R; for families with parameters gam's), and ours must not be worse. mgcv leaves functions of bs="fs" and "cs"
# to rounding: where it differs, it is given our choice of them, and their variable reflected.
# Usage: Rscript compare_calls.R TESSERA_FIT LIST [all | quick | some COUNT | development | second | NUMBER...]; LIST is
# public_calls.R or mgcv_examples.R. `quick` omits those that take mgcv minutes, `some` COUNT takes as many of the
# fitted ones, of at most 1,000 rows if there are as many, others each week. Prints a table of the calls, and one of the
# fields; exits with 77 if mgcv is missing, and with 1 if a call differs, is refused although the list does not say so, or
# the reverse.
arguments <- commandArgs(trailingOnly=TRUE)
if (!all(vapply(c("mgcv", "jsonlite"), requireNamespace, NA, quietly=TRUE))) {
  cat("R has no mgcv or jsonlite: nothing is compared\n")
  quit(status=77)
}
suppressMessages({library(mgcv); library(jsonlite); library(splines)})
tests <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value=TRUE), fixed=TRUE))
source(file.path(tests, "referee.R"))
source(file.path(tests, "../data/basis/own_bases.R"))
program <- arguments[1]
parts <- if (length(arguments) > 2) arguments[-(1:2)] else "all"

# Columns of n rows. In a list each can use those before it, and a response has a mean that depends on all of them.
uniform <- function(low, high) signif(runif(n, low, high), 6)
whole <- function(low, high) sample(low:high, n, TRUE)
grid <- function(low, high, count) round(sample(seq(low, high, length.out=count), n, TRUE), 5)
series <- function(length) rep_len(seq_len(length), n)
levels_of <- function(count) factor(sample(sprintf("l%03d", rep_len(seq_len(count), n))))
eta <- function() {
  effect <- function(column) {
    if (is.factor(column)) return(rnorm(nlevels(column), sd=.5)[column])
    u <- (column - min(column))/max(diff(range(column)), 1e-9)
    sin(2*pi*(u + runif(1)))*runif(1, .2, .8) + runif(1, -.5, .5)*u
  }
  sum <- Reduce(`+`, lapply(columns, effect), rnorm(n, sd=1e-3))
  .6*as.numeric(scale(sum))
}
gauss <- function() signif(eta() + rnorm(n, sd=.5), 7)
binary <- function() rbinom(n, 1, plogis(eta() - .3))
counts <- function() rnbinom(n, size=2, mu=exp(eta() + 1))
positive <- function(inverse=exp) {
  mu <- inverse(eta())
  signif((mu - min(mu, 0) + .1)*rgamma(n, 5, 5), 7)
}
masses <- function() signif(rTweedie(exp(eta()), p=1.5, phi=.7), 7)
share <- function() {
  mu <- plogis(eta())
  signif(pmin(pmax(rbeta(n, 8*mu, 8*(1 - mu)), .001), .999), 7)
}
n <- 0
columns <- list()
table_of <- function(call) {
  set.seed(call$seed)
  n <<- call$rows
  columns <<- list()
  if (call$table[[1]] != quote(list)) return(eval(call$table, new.env()))
  for (name in names(call$table)[-1]) columns[[name]] <<- eval(call$table[[name]], columns, globalenv())
  as.data.frame(columns, optional=TRUE)
}

calls <- list()
add <- function(field, rows, table, text, constants=list(), refused=NULL, differs=FALSE, large=FALSE)
  calls[[length(calls) + 1]] <<- list(field=field, rows=rows, table=substitute(table), text=text, constants=constants, refused=refused, differs=differs,
                                      large=large, seed=length(calls) + 1)
# Calls that are refused because a feature is missing, by number.
not_yet <- function(...) for (number in c(...)) calls[[number]]$refused <<- ""
source(arguments[2])
set.seed(29)
development <- sort(sample(length(calls), length(calls) %/% 2))
quick <- which(!vapply(calls, function(call) call$large, NA))
some <- function(count) {
  set.seed(as.integer(Sys.Date()) %/% 7)
  fitted <- quick[vapply(calls[quick], function(call) is.null(call$refused), NA)]
  small <- fitted[vapply(calls[fitted], function(call) isTRUE(call$rows <= 1000), NA)]
  if (length(small) >= count) fitted <- small
  sort(fitted[sample(length(fitted), min(count, length(fitted)))])
}
chosen <- switch(parts[1], all=seq_along(calls), quick=quick, some=some(as.integer(parts[2])), development=development,
                 second=setdiff(seq_along(calls), development), as.integer(parts))

folder <- tempfile()
dir.create(folder)
file_of <- function(name) file.path(folder, name)
# The program's output is in the log. Returns its status.
run <- function(...) system2(program, shQuote(c(...)), stdout=FALSE, stderr=file_of("log"))

# The text with the values of constants, except names of arguments.
valued <- function(text, constants) {
  for (name in names(constants)) {
    value <- paste(deparse(constants[[name]]), collapse="")
    text <- gsub(paste0("(?<![\\w.$\"'])", gsub(".", "\\.", name, fixed=TRUE), "(?![\\w.(\"']|\\s*=[^=])"), value, text, perl=TRUE)
  }
  text
}
text_of <- function(expression) paste(deparse(expression, width.cutoff=500), collapse=" ")
# The source of the formula, comments and all.
formula_text <- function(text) {
  tokens <- getParseData(parse(text=text, keep.source=TRUE))
  getParseText(tokens, tokens$parent[tokens$token == "'~'"][1])
}
# The arguments that affect a fit: without those that say how it is computed.
computing <- c("method", "discrete", "nthreads", "cluster", "control", "chunk.size", "samfrac", "gc.level", "use.chol", "na.action", "optimizer", "in.out")
matched <- function(call) {
  expression <- parse(text=call$text)[[1]]
  fun <- if (grepl("gam$", text_of(expression[[1]]))) gam else bam
  arguments <- as.list(match.call(fun, expression))[-1]
  data <- arguments$data
  # The condition of data=subset(table, condition), and of data=table[condition, ].
  if (is.call(data) && data[[1]] == quote(subset)) arguments$subset <- data[[3]]
  arguments[setdiff(names(arguments), computing)]
}
column_of <- function(expression) if (is.call(expression) && expression[[1]] == quote(`$`)) expression[[3]] else expression

options_of <- function(call, arguments, table, values) {
  text <- function(expression) valued(text_of(column_of(expression)), call$constants)
  numbers <- function(values) paste(format(values, digits=15, trim=TRUE), collapse=",")
  pick <- function(name, option, as) if (!is.null(arguments[[name]])) c(option, as(arguments[[name]]))
  value <- function(expression) eval(expression, values)
  others <- setdiff(names(arguments), c("formula", "data", "family", "weights", "offset", "subset", "knots", "select", "gamma", "sp", "min.sp", "rho",
                                        "AR.start", "drop.unused.levels"))
  if (length(others)) stop("no option for ", others)
  knots <- value(arguments$knots)
  ordered <- names(table)[vapply(table, is.ordered, NA)]
  c("--formula", valued(formula_text(call$text), call$constants),
    pick("family", "--family", function(family) if (is.character(family)) family else gsub("mgcv::", "", text(family), fixed=TRUE)),
    pick("weights", "--weights", text), pick("offset", "--offset", text), pick("subset", "--subset", text),
    pick("AR.start", "--ar-start", text), pick("rho", "--rho", function(rho) numbers(value(rho))),
    if (isTRUE(value(arguments$select))) "--select",
    if (!is.null(arguments$gamma) && value(arguments$gamma) != 1) c("--gamma", numbers(value(arguments$gamma))),
    pick("sp", "--sp", function(sp) numbers(value(sp))), pick("min.sp", "--min-sp", function(sp) numbers(value(sp))),
    if (identical(arguments$drop.unused.levels, FALSE)) c("--drop-unused-levels", "false"),
    unlist(lapply(names(knots), function(name) c("--knots", paste0(name, "=", numbers(knots[[name]]))))),
    unlist(lapply(ordered, function(name) c("--ordered", paste0(name, "=", paste(levels(table[[name]]), collapse=","))))))
}

# mgcv's fit, by gam or bam, with further arguments.
fitted_by <- function(fun, arguments, values, ...) {
  arguments$data <- quote(table)
  arguments$formula <- as.formula(arguments$formula, values)
  arguments <- c(arguments, list(control=quote(control)), list(...))
  if (fun == "bam") arguments$chunk.size <- 1e6
  eval(as.call(c(as.name(fun), arguments)), values)
}

compared <- function(call) {
  table <- table_of(call)
  arguments <- matched(call)
  # The environment of a call: its constants, and the table under the name that the call uses.
  values <- list2env(c(lapply(call$constants, eval), list(table=table)), parent=globalenv())
  name <- all.vars(arguments$data)
  if (length(name)) assign(name[1], table, values)
  # A matrix is not a column of a table.
  write.csv(table, file_of("table.csv"), row.names=FALSE)
  options <- options_of(call, arguments, table, values)
  time <- system.time(status <- run("fit", file_of("table.csv"), options, "--device", "cpu", "--out", file_of("model.json")))[3]
  said <- readLines(file_of("log"))
  if (status != 0 && status != 4) {
    # An error has several lines where there are several faults.
    first <- min(length(said), grep("^tessera-fit:", said))
    return(list(result="refused", what=gsub("tessera-fit: ", "", paste(said[first:length(said)], collapse=" "))))
  }
  if (!is.null(call$refused)) return(list(result="differs", what="it is fitted now"))
  if (run("predict", file_of("model.json"), file_of("table.csv"), "--se", "--out", file_of("predictions.csv")))
    return(list(result="refused", what=paste("predict:", tail(readLines(file_of("log")), 1))))
  here <- read.csv(file_of("predictions.csv"))
  model <- fromJSON(file_of("model.json"), simplifyVector=FALSE)

  family <- eval(if (is.null(arguments$family)) quote(gaussian) else arguments$family, values)
  if (is.character(family)) family <- get(family)
  if (is.function(family)) family <- family()
  correlated <- !is.null(arguments$rho)
  normal <- family$family == "gaussian" && family$link == "identity"
  fit <- function() {
    if (normal && !correlated) fitted_by("gam", arguments, values, method="REML")
    # bam estimates a scale of negbin.
    else if (grepl("^Negative", family$family) && is.null(family$putTheta)) fitted_by("bam", arguments, values, scale=1)
    else if (normal || !correlated) fitted_by("bam", arguments, values)
    else fitted_by("bam", arguments, values, discrete=TRUE)
  }
  theirs <- tryCatch(fit(), error=function(e) conditionMessage(e))
  if (is.character(theirs)) return(list(result="mgcv fails", what=theirs))
  differences <- function() {
    expected <<- predict(theirs, table, se.fit=TRUE)
    c(fit=max(abs(here[[1]] - expected$fit), na.rm=TRUE)/diff(range(expected$fit, na.rm=TRUE)),
      se=max(abs(here[[2]]/expected$se.fit - 1), na.rm=TRUE), edf=abs(sum(unlist(model$edf)) - sum(theirs$edf)))
  }
  expected <- NULL
  by <- differences()
  if (any(is.na(here[[1]]) != is.na(expected$fit))) return(list(result="differs", what="other predictions are missing"))
  few <- c(1e-5, 1e-4, 1e-3)
  agrees <- "agrees"
  chosen <- with_chosen_functions(text_of(arguments$formula))
  if (any(by >= few) && chosen != text_of(arguments$formula)) {
    arguments$formula <- parse(text=chosen)[[1]]
    theirs <- fit()
    by <- differences()
    agrees <- "agrees but for rounding"
  }
  what <- paste0(paste(names(by), formatC(by, digits=1, format="e"), collapse=", "),
                 if (!isTRUE(theirs$converged)) "; mgcv has not converged", if (status == 4) paste(";", tail(said, 1)), sprintf("; %.1f s", time))
  if (all(by < few)) return(list(result=agrees, what=what, fit=by[[1]]))
  if (!correlated && is.null(arguments$sp) && is.null(arguments$min.sp)) {
    ours <- exp(unlist(lapply(model$terms, function(term) term$log_sp)))
    own <- if (is.null(theirs$full.sp)) theirs$sp else theirs$full.sp
    # Predictions of all rows of the table, without offset=.
    eta <- as.numeric(theirs$linear.predictors)
    here_eta <- eta + (here[[1]] - expected$fit)[match(rownames(theirs$model), rownames(table))]
    excess_by <- function(fun) tryCatch({
      by_fun <- function(...) fitted_by(fun, arguments, values, method=if (fun == "gam") "REML" else "fREML", ...)
      # With a random effect the functions of bam and gam have differed by more than a constant.
      if (inherits(family, "extended.family") || grepl('"re"', chosen, fixed=TRUE)) return(by_fun(sp=ours)$gcv.ubre - by_fun(sp=own)$gcv.ubre)
      setup <- by_fun(fit=FALSE)
      fit <- by_fun(sp=own)
      gamma <- if (is.null(arguments$gamma)) 1 else eval(arguments$gamma, values)
      criterion_at(here_eta, ours, setup, fit, gamma) - criterion_at(eta, own, setup, fit, gamma)
    }, error=function(e) NA_real_)
    # Null spaces and the columns of a smooth are penalised as in bam, and nested smooths lose gam's columns.
    excess <- if (normal) excess_by("gam") else excess_by("bam")
    if (!normal && !is.na(excess) && excess >= 1e-4) excess <- excess_by("gam")
    what <- paste0(what, "; REML ", formatC(excess, digits=1, format="e"))
    if (!is.na(excess) && excess < 1e-4) return(list(result="agrees by REML", what=what, fit=by[[1]]))
  }
  # For thin plate splines on equally spaced points, the first function, on which the choice depends, is one of two that
  # rounding chooses from: mgcv has the other one for the reflected variable.
  if (!correlated && agrees != "agrees" && is.null(arguments$knots)) {
    is_of_curves <- function(name) is.numeric(table[[name]]) && grepl(sprintf('s\\(%s,[^()]*"turned"', name), chosen)
    of_curves <- Filter(is_of_curves, names(table))
    distance <- min(Inf, vapply(of_curves, function(name) {
      values$table[[name]] <- sum(range(table[[name]])) - table[[name]]
      reflected <- fit()
      values$table <- table
      max(abs(here[[1]] - predict(reflected)))/diff(range(expected$fit))
    }, 0))
    what <- paste0(what, "; from mgcv's fit of one reflected ", formatC(distance, digits=1, format="e"))
    if (distance < 1e-4) return(list(result="agrees but for rounding", what=what, fit=distance))
  }
  list(result="differs", what=what)
}

results <- data.frame()
wrong <- 0
for (number in chosen) {
  call <- calls[[number]]
  result <- suppressWarnings(tryCatch(compared(call), error=function(e) list(result="differs", what=conditionMessage(e))))
  asked <- if (!is.null(call$refused)) "refused"
    else c("agrees", "agrees by REML", "agrees but for rounding", "mgcv fails", if (call$differs) "differs")
  if (!(result$result %in% asked) || (!is.null(call$refused) && !grepl(call$refused, result$what, fixed=TRUE))) wrong <- wrong + 1
  results <- rbind(results, data.frame(field=call$field, result=result$result, fit=c(result$fit, NA)[1]))
  one_line <- function(text, width) substr(gsub("\\s+", " ", text), 1, width)
  cat(sprintf("| %d | %s | `%s` | %s | %s |\n", number, call$field, one_line(formula_text(call$text), 70), result$result, one_line(result$what, 260)))
}
cat("\n| | calls | agree | linear predictors differ by at most | refused |\n| --- | --- | --- | --- | --- |\n")
for (field in c(unique(results$field), "all")) {
  part <- results[field == "all" | results$field == field, ]
  largest <- suppressWarnings(max(part$fit, na.rm=TRUE))
  cat(sprintf("| %s | %d | %d | %s | %d |\n", field, nrow(part), sum(startsWith(part$result, "agrees")),
              if (is.finite(largest)) formatC(largest, digits=1, format="e") else "", sum(part$result == "refused")))
}
cat(wrong, "of", length(chosen), "calls are not as expected\n")
quit(status=as.integer(wrong > 0))
