# SPDX-License-Identifier: Apache-2.0
# Families: mgcv's family objects, and their translation into the options `family` and `link` of the engine.

#' The family given as in bam: an object, a function or a text.
family_of <- function(family) {
  if (is.character(family)) {
    if (grepl("^ *elf *\\(", family)) return(list(family = family, link = "identity"))  # not a family of mgcv
    known <- tryCatch(eval(parse(text = family), asNamespace("mgcv")), error = function(e) NULL)
    if (!is.function(known) && !inherits(known, "family")) refuse_family(family)
    family <- known
  }
  if (is.function(family)) family <- tryCatch(family(), error = function(e) NULL)
  if (is.list(family) && is.character(family$family)) return(family)
  usage_error("family: give a family of R or mgcv, such as binomial(\"probit\"), or its name")
}

refuse_family <- function(name) {
  usage_error("family '", name, "' is not known: give gaussian, binomial, poisson, Gamma, inverse.gaussian, quasi, ",
              "quasibinomial, quasipoisson, nb, negbin, tw, Tweedie, scat, betar, ocat, cnorm, clog, cpois, ziP, \"elf(qu=0.9)\", or of several linear predictors ",
              "gaulss, gammals, gumbls, gevlss, shash, twlss, ziplss or multinom")
}

#' The engine's options for a family: c(family =, link =).
family_options <- function(family) {
  kind <- trimws(sub("\\(.*", "", family$family[1]))  # negbin() of several theta has several
  text <- switch(kind,
    gaussian = , binomial = , poisson = , Gamma = , inverse.gaussian = , quasibinomial = , quasipoisson = kind,
    quasi = return(c(family = sprintf("quasi(%s, %s)", family$link, family$varfun))),
    "Negative Binomial" = negbin_text(family),
    "negative binomial" = sprintf("nb(%s)", theta_text(family, 0)),
    Tweedie = if (is.null(family$getTheta)) family$family else tw_text(family),
    "scaled t" = with_argument("scat", theta_text(family, c(-2, -1)), "min.df", family_constant(family, ".min.df")),
    "Ordered Categorical" = ocat_text(family),
    # mgcv's cpois has the name cnorm, too.
    "censored normal" = , cnorm = if (is.null(family$getTheta())) "cpois" else sprintf("cnorm(%s)", theta_text(family, 0)),
    clogistic = sprintf("clog(%s)", theta_text(family, 0)),
    cpois = kind,
    elf = elf_text(family),
    "zero inflated Poisson" = zip_text(family),
    "Beta regression" = with_argument("betar", theta_text(family, 0), "eps", family_constant(family, ".betarEps")),
    gaulss = , gammals = , gumbls = , gevlss = , ziplss =
      with_argument(kind, links_text(family, kind), "b", family_constant(family, "b")),
    shash = shash_text(family),
    twlss = with_bounds(with_argument(kind, links_text(family, kind)), family),
    multinom = with_argument(kind, NULL, "K", family$nlp),
    refuse_family(family$family))
  link <- if (!is_general(family)) link_text(family$link)
  c(family = sub("()", "", sub("^Tweedie\\(", "Tweedie(p=", text), fixed = TRUE), link = link)
}

#' The engine's name of a link; mgcv's power() names some links by their power.
link_text <- function(link) {
  powers <- c("mu^0.5" = "sqrt", "mu^-1" = "inverse", "mu^-2" = "1/mu^2")
  if (link %in% names(powers)) powers[[link]] else link
}

#' The links of several linear predictors, if they are not the family's own.
links_text <- function(family, kind) {
  if (!identical(family$link, family_of(kind)$link)) sprintf("link=list(%s)", toString(dQuote(family$link, FALSE)))
}

negbin_text <- function(family) {
  theta <- family$getTheta()
  if (length(theta) > 1) usage_error("negbin() has several theta: give one, or family = nb(), which estimates theta")
  sprintf("nb(theta=%s)", number_text(theta))
}

tw_text <- function(family) {
  with_bounds(with_argument("tw", theta_text(family, 0)), family)
}

with_bounds <- function(call, family) {
  with_argument(with_argument(call, NULL, "a", family_constant(family, ".a")), NULL, "b", family_constant(family, ".b"))
}

shash_text <- function(family) {
  if (family_constant(family, "phiPen") != formals(mgcv::shash)$phiPen) {
    usage_error("shash: phiPen is ", formals(mgcv::shash)$phiPen, " here: leave it out")
  }
  with_argument("shash", NULL, "b", family_constant(family, "b"))
}

ocat_text <- function(family) {
  steps <- exp(family$getTheta())
  if (!isTRUE(family$n.theta == 0)) return(sprintf("ocat(R=%d)", length(steps) + 2))
  sprintf("ocat(theta=c(%s))", paste(number_text(signif(steps, 15)), collapse = ","))
}

zip_text <- function(family) {
  theta <- if (isTRUE(family$n.theta == 0)) sprintf("theta=c(%s)", paste(number_text(family$getTheta()), collapse = ","))
  with_argument("ziP", theta, "b", family_constant(family, ".b"))
}

#' Theta for the engine: positive if fixed; negative: the estimate's start value; "" for mgcv's start value.
theta_text <- function(family, usual) {
  is_fixed <- isTRUE(family$n.theta == 0)
  if (!is_fixed && isTRUE(all.equal(family$getTheta(), usual))) return("")
  theta <- number_text(signif(family$getTheta(TRUE), 15) * if (is_fixed) 1 else -1)  # so that exp(log(3)) gives 3
  if (length(theta) == 1) paste0("theta=", theta) else sprintf("theta=c(%s)", paste(theta, collapse = ","))
}

with_argument <- function(call, theta, name = NULL, value = NULL) {
  inner <- sub("^[^(]*\\(?(.*?)\\)?$", "\\1", call)
  given <- c(inner, theta, if (length(value)) paste0(name, "=", number_text(value)))
  sprintf("%s(%s)", sub("\\(.*", "", call), paste(given[nzchar(given)], collapse = ","))
}

#' A constant that mgcv stores in the environment of a family's functions; NULL if there is none.
family_constant <- function(family, name) {
  get0(name, environment(if (is.null(family$ll)) family$getTheta else family$ll), inherits = FALSE)
}

number_text <- function(numbers) vapply(numbers, function(x) format(x, digits = 17, trim = TRUE), "")
