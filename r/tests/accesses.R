# SPDX-License-Identifier: Apache-2.0
# Expressions by which packages outside Debian read a model object, from their sources at the commits below, evaluated
# for bam's object and for ours. If bam's has a value, ours must have one of the same type and shape. gratia c92f98f4,
# marginaleffects 0d23db81, DHARMa 746f969c, mgcViz 30767dc8, itsadug 34abd8a7 (of CRAN)
library(tessera)
suppressMessages(library(mgcv))

expressions <- list(
  gratia = expression(
    model[["model"]], model[["linear.predictors"]], object[["family"]]$family, model$prior.weights, object$edf,
    object[["smooth"]][[1]][["term"]], model[["var.summary"]], names(model[["var.summary"]]), model$terms,
    smooth[["last.para"]], smooth[["first.para"]], smooth$vn[[1]], length(smooth$margin), object$call$data, object$Vp,
    object$Ve, object$Vc, model[["y"]], model[["pred.formula"]], model[["fitted.values"]], model$pred.formula,
    smooth[["by.level"]], smooth[["by"]], smooth[["dim"]], smooth[["label"]], object[["sp"]], names(object[["sp"]]),
    object$terms, object$pterms, object$na.action, object$edf1, object$edf2, object$coefficients, model$null.deviance,
    smooth$plot.me, vapply(smooth$S, ncol, 0L), smooth$S.scale, smooth$sp, inherits(smooth, "mgcv.smooth"),
    attr(smooth, "nCons"), smooth$id, vapply(object$smooth, function(s) s$plot.me, NA), object$family$linkinv(0.1),
    dim(PredictMat(smooth, model$model[1:7, ])), attr(object$terms, "dataClasses"), attr(object$pterms,
    "term.labels"), object$cmX, object$control$epsilon > 0, object$method, nrow(model.frame(model)),
    delete.response(terms(model)), family(model)$link, model$formula, all.vars(model$pred.formula), deviance(model)),
  marginaleffects = expression(
    model$coefficients, { model[["coefficients"]][1] <- 3; predict(model, model$model[1:5, ], type = "response") },
    vcov(model), predict(model, model$model[1:5, ], type = "link"), insight::find_variables(model),
    insight::get_data(model), insight::find_response(model)),
  DHARMa = expression(
    class(model)[1], model.frame(model), family(model)$family, nobs(model), stats::residuals(model, type = "pearson"),
    stats::residuals(model, type = "scaled.pearson"), predict(model, type = "response"), weights(model),
    stats::simulate(model, nsim = 2, seed = 1), model$family$rd, formula(model), length(model$y)),
  mgcViz = expression(
    object$sig2, object$y, object$family$rd, fix.family.rd(object$family)$rd, fix.family.qf(object$family)$qf,
    object$prior.weights, object$fitted.values, object$cmX, object$call$data, object$formula, object$outer.info$conv,
    object$outer.info$iter, object$outer.info$grad, object$outer.info$hess, object$na.action, object$method,
    object$linear.predictors, object$residuals, object$weights, object$rank, object$optimizer, object$mgcv.conv$iter,
    object$gcv.ubre, attr(object$pterms, "order"), object$Vp[1, 1], smooth$flev, smooth$base$term, smooth$fterm, {
    attr(smooth, "coefficients") <- object$coefficients[smooth$first.para:smooth$last.para]; 1 }, predict(object, type
    = "terms")),
  itsadug = expression(
    model$model, model$AR1.rho, model$var.summary, smooth[["label"]], smooth[["null.space.dim"]], smooth[["term"]],
    model$formula[[2]], model$family$family, model$terms, model$pterms, model$nsdf, model$na.action, model$sp,
    model$edf, model$Vp, names(model$model), model$model[["(AR.start)"]], model$std.rsd, summary(model)$s.table,
    predict(model, model$model[1:3, ], type = "lpmatrix"), rownames(summary(model)$p.table), resid(model),
    model$xlevels, model$df.residual))

set.seed(4)
n <- 300
d <- data.frame(x = runif(n), z = runif(n), fac = factor(sample(c("a", "b", "c"), n, TRUE)),
                g = factor(sample(letters[1:6], n, TRUE)), start = seq_len(n) %% 50 == 1)
d$y <- sin(6 * d$x) * as.integer(d$fac) + d$z^2 + rnorm(6, sd = 0.4)[d$g] + rnorm(n, sd = 0.4)
d$k <- rpois(n, exp(d$y / 3))
calls <- expression(
  fit(y ~ fac + s(x, by = fac) + ti(x, z, k = 4) + s(g, bs = "re"), data = d),
  fit(y ~ fac + s(x) + s(z, g, bs = "fs", k = 4), data = d, rho = 0.2, AR.start = start),
  fit(k ~ s(x) + s(fac, z, bs = "sz", k = 5), data = d, family = nb()),
  fit(k ~ offset(log(z + 1)) + s(x, bs = "cr") + ti(x, z), data = d, family = poisson(), weights = z + 0.5))

#' The type and shape of a value; integers count as numbers.
shape <- function(value) {
  type <- if (is.numeric(value)) "number" else class(value)[1]
  list(type, if (is.null(dim(value))) length(value) else dim(value), if (is.data.frame(value)) names(value))
}
faults <- character(0)
for (call in as.list(calls)) {
  fit <- bam
  theirs <- suppressWarnings(eval(call))
  fit <- tessera_bam
  ours <- eval(call)
  for (package in names(expressions)) {
    for (expression in as.list(expressions[[package]])) {
      for (i in if ("smooth" %in% all.vars(expression)) seq_along(theirs$smooth) else 1) {
        value_of <- function(m) {
          at <- list(model = m, object = m, smooth = m$smooth[[i]])
          tryCatch(suppressWarnings(shape(eval(expression, at))), error = function(e) e)
        }
        expected <- value_of(theirs)
        if (inherits(expected, "error") || identical(expected[[1]], "NULL")) next
        found <- value_of(ours)
        if (inherits(found, "error")) found <- list(conditionMessage(found))
        # Skipped: mgcv expects rows of the Hessian for the family's parameters, which bam does not have.
        if (grepl("outer.info", deparse1(expression)) && inherits(theirs$family, "extended.family")) next
        if (!identical(lapply(found, as.character), lapply(expected, as.character))) {
          faults <- c(faults, paste0(deparse1(call[[2]]), ", ", package, ": ", deparse1(expression), " of smooth ", i,
                                     ": ", toString(found), " in place of ", toString(expected)))
        }
      }
    }
  }
}
writeLines(faults)
if (length(faults)) quit(status = 1)
