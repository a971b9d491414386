# SPDX-License-Identifier: Apache-2.0
# mgcv's family object of a model, with the parameters estimated by the fit.

mgcv_family <- function(json) {
  if (!is.null(json$family_toml)) {
    usage_error("the family ", json$family, " is a custom family, unknown to mgcv: predict with tessera-fit")
  }
  value <- stats::setNames(numbers(field(json$family_parameters, "value")), field(json$family_parameters, "name"))
  estimated <- stats::setNames(as.logical(field(json$family_parameters, "estimated")), names(value))
  link <- json$link
  switch(sub("\\(.*", "", json$family),
         nb = extended(mgcv::nb, link, log(value[["theta"]]), estimated[["theta"]], value[["theta"]],
                       sprintf("Negative Binomial(%s)", round(value[["theta"]], 3))),
         tw = extended(mgcv::tw, link, log((value[["p"]] - value[["a"]]) / (value[["b"]] - value[["p"]])),
                       estimated[["p"]], value[["p"]], sprintf("Tweedie(p=%s)", round(value[["p"]], 3)),
                       a = value[["a"]], b = value[["b"]]),
         scat = extended(mgcv::scat, link, log(c(value[["nu"]] - value[["min.df"]], value[["sigma"]])),
                         estimated[["nu"]], value[c("nu", "sigma")],
                         sprintf("Scaled t(%s,%s)", round(value[["nu"]], 3), round(value[["sigma"]], 3)),
                         min.df = value[["min.df"]]),
         betar = extended(mgcv::betar, link, log(value[["phi"]]), estimated[["phi"]], value[["phi"]],
                          sprintf("Beta regression(%s)", round(value[["phi"]], 3)), eps = value[["eps"]]),
         ocat = {
           steps <- diff(value)
           extended(mgcv::ocat, link, log(steps), estimated[[2]], steps,
                    sprintf("Ordered Categorical(%s)", paste(round(value, 2), collapse = ",")), R = length(value) + 1)
         },
         cnorm = extended(mgcv::cnorm, link, log(value[["sigma"]]), estimated[["sigma"]], value[["sigma"]],
                          sprintf("cnorm(%s)", round(value[["sigma"]], 3))),
         clog = extended(of_mgcv("clog"), link, log(value[["sigma"]]), estimated[["sigma"]], value[["sigma"]],
                         sprintf("clogistic(%s)", round(value[["sigma"]], 3))),
         cpois = do.call(of_mgcv("cpois"), list(link)),
         elf = elf_family(value),
         ziP = {
           theta <- c(value[["intercept"]], log(value[["slope"]] - value[["b"]]))
           extended(mgcv::ziP, link, theta, estimated[["slope"]], theta,
                    sprintf("Zero inflated Poisson(%s)", paste(round(value[c("intercept", "slope")], 3), collapse = ",")),
                    b = value[["b"]])
         },
         Tweedie = mgcv::Tweedie(value[["p"]], link),
         quasi = do.call(stats::quasi, list(link, quasi_variances[value[["variance"]] + 1])),
         gaussian = stats::gaussian(link), binomial = stats::binomial(link), quasibinomial = stats::quasibinomial(link),
         poisson = stats::poisson(link), quasipoisson = stats::quasipoisson(link), Gamma = stats::Gamma(link),
         inverse.gaussian = stats::inverse.gaussian(link),
         gaulss = , gammals = , gumbls = , gevlss = , shash = , twlss = , ziplss = , multinom = family_of(json$family),
         usage_error("family '", json$family, "' is not known: install the version that wrote the model"))
}

#' A function that mgcv has since version 1.9-0.
of_mgcv <- function(name) {
  found <- get0(name, asNamespace("mgcv"), inherits = FALSE)
  if (is.null(found)) usage_error("the family ", name, " is not in mgcv ", utils::packageVersion("mgcv"), ": update mgcv to 1.9-0 or later")
  found
}

#' Whether a family has several linear predictors, as a list of formulas.
is_general <- function(family) inherits(family, "general.family")

#' An extended family. `theta`: its parameters on mgcv's working scale; `given`: the parameters as users write them.
extended <- function(make, link, theta, estimated, given, title, ...) {
  arguments <- list(link = link, ...)
  if (!estimated) arguments$theta <- unname(given)
  family <- do.call(make, arguments, envir = globalenv())  # functions of the family keep the environment of the call
  family$putTheta(unname(theta))
  family$family <- title
  family
}

quasi_variances <- c("constant", "mu", "mu^2", "mu^3", "mu(1-mu)")
