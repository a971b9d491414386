# SPDX-License-Identifier: Apache-2.0
# Families with several linear predictors at given smoothing parameters, by gam of mgcv 1.8-41, R 4.2.2. The log
# likelihood that its multinom gives class 0 is too large by 1 in each row, which is subtracted here; there are no
# standard errors of responses, since those of its gammals, gumbls and ziplss are of other rows or predictors.
# Residuals are its own, but for means and standard deviations in which it slips (see `level`); a k-index is that of
# k.check, and concurvity that of a gam of the predictor's terms alone, at the predictor's coefficients.
suppressMessages(library(mgcv))
set.seed(11)
n <- 240
d <- data.frame(x=round(runif(n), 4), z=round(runif(n), 4), o=round(runif(n)*.4, 3), g=sample(c("a", "b", "c"), n, TRUE))
mean <- sin(6*d$x) + (d$g == "b")*.5
log_scale <- -.8 + .6*cos(4*d$z)
d$normal <- round(mean + exp(log_scale)*rnorm(n), 5)
d$skew <- round(mean + exp(log_scale)*sinh(1.1*asinh(rnorm(n)) + .2), 5)
d$positive <- signif(rgamma(n, shape=exp(-2*log_scale), scale=exp(mean + 2*log_scale)), 6)
d$extreme <- round(mean - exp(log_scale)*log(-log(runif(n))), 5)
rate <- exp(.8 + mean/2)
d$count <- ifelse(runif(n) < 1 - exp(-exp(log_scale + 1)), qpois(runif(n, exp(-rate), 1), rate), 0)
odds <- exp(cbind(0, mean, log_scale))
d$class <- apply(odds/rowSums(odds), 1, function(p) sample(0:2, 1, prob=p))
d$level <- c("low", "middle", "top")[d$class + 1]
phi <- exp(log_scale)
drops <- rpois(n, exp(.5*mean)/(.5*phi))  # of a Tweedie response with p = 1.5
d$rain <- signif(ifelse(drops > 0, rgamma(n, shape=pmax(drops, 1), scale=.5*phi*exp(.5*mean)), 0), 6)
write.csv(d, "data.csv", row.names=FALSE, quote=FALSE)
d$g <- factor(d$g)
some <- seq(1, n, 8)  # every eighth row
# Mean and standard deviation of each response; mgcv's of gaulss and gumbls are the same. Its mean of shash lacks the
# skewness, and that of ziplss has the probability of a zero; its deviation of gammals is squared, that of gevlss has the
# sign of the shape.
level <- function(m) {
  eta <- predict(m)
  p <- if (m$family$family == "multinom") NULL else predict(m, type="response")
  switch(m$family$family,
         gaulss = cbind(p[, 1], 1/p[, 2]),
         gammals = cbind(p[, 1], p[, 1]*exp(p[, 2]/2)),
         gumbls = cbind(p[, 1] - digamma(1)*exp(p[, 2]), pi/sqrt(6)*exp(p[, 2])),
         gevlss = {
           g <- gamma(1 - outer(p[, 3], 1:2))
           cbind(eta[, 1] + exp(eta[, 2])*(g[, 1] - 1)/p[, 3], exp(eta[, 2])*sqrt(g[, 2] - g[, 1]^2)/abs(p[, 3]))
         },
         shash = {
           delta <- exp(eta[, 4])
           moment <- function(q) exp(.25)/sqrt(8*pi)*(besselK(.25, (q + 1)/2) + besselK(.25, abs(q - 1)/2))
           unit <- exp(p[, 2])*delta
           first <- sinh(eta[, 3]/delta)*moment(1/delta)
           cbind(eta[, 1] + unit*first, unit*sqrt((cosh(2*eta[, 3]/delta)*moment(2/delta) - 1)/2 - first^2))
         },
         twlss = {
           bounds <- environment(m$family$ll)
           power <- bounds$.a + (bounds$.b - bounds$.a)*plogis(p[, 2])
           cbind(p[, 1], exp((p[, 3] + power*log(p[, 1]))/2))
         },
         ziplss = cbind(p, sqrt(p*(1 + exp(eta[, 1]) - p))),
         multinom = matrix(NA, nrow(eta), 2))
}
residuals_of <- function(m) {
  own <- unname(level(m))
  response <- m$y - own[, 1]
  deviance <- as.vector(residuals(m, "deviance"))
  if (m$family$family %in% c("shash", "ziplss")) deviance <- abs(deviance)*sign(response)
  if (m$family$family %in% c("gaulss", "gumbls", "twlss")) {
    stopifnot(all.equal(as.vector(residuals(m, "pearson")), response/own[, 2], tolerance=1e-10),
              all.equal(as.vector(residuals(m, "response")), response, tolerance=1e-10))
  }
  cbind(deviance, response/own[, 2], response)
}
k_index <- function(m, residuals) {
  own <- as.vector(k.check(m)[, 3])
  if (any(lengths(lapply(m$smooth, `[[`, "term")) > 1)) return(own)
  index <- sapply(m$smooth, function(s) mean(diff(residuals[order(d[[s$term]])])^2)/2/mean(residuals^2))
  if (!m$family$family %in% c("shash", "ziplss")) stopifnot(all.equal(index, own, tolerance=1e-12))
  index
}
concurvity_of <- function(m, formulas) {
  response <- sub("~.*", "", formulas[1])
  unlist(lapply(seq_along(formulas), function(p) {
    alone <- gam(as.formula(paste(response, "~", sub(".*~", "", formulas[p]))), data=d)
    begins <- c(attr(m$nsdf, "pstart"), length(coef(m)) + 1)
    alone$coefficients <- coef(m)[begins[p]:(begins[p + 1] - 1)]
    if (length(alone$smooth)) as.vector(concurvity(alone)[, 2])
  }))
}
case <- function(name, family, text, formulas) {
  m <- gam(lapply(formulas, as.formula), family=family, data=d, control=list(epsilon=1e-13))
  p <- predict(m, se.fit=TRUE)
  excess <- if (startsWith(name, "multinom")) sum(d$class == 0) else 0
  list(name=name, family=text, formula=paste0("list(", paste(formulas, collapse=", "), ")"), names=names(coef(m)),
       fit=p$fit[some, ], se=p$se.fit[some, ], response=as.matrix(predict(m, type="response"))[some, , drop=FALSE], edf=sum(m$edf),
       reml=as.vector(m$gcv.ubre) + excess, aic=m$aic + 2*excess, deviance=m$deviance,
       residuals=residuals_of(m)[some, ], k_index=k_index(m, residuals_of(m)[, 1]),
       concurvity=concurvity_of(m, formulas),
       null=if (is.null(m$null.deviance)) NA else as.vector(m$null.deviance))
}
curve <- 's(x, bs="cr", k=9, sp=2) + g'
other <- 's(z, bs="ps", k=8, sp=0.3) + offset(o)'
shared <- 's(o, bs="cr", k=6, sp=1) + x - 1'
cases <- list(
  case("gaulss", gaulss(), "gaulss", c(paste("normal ~", curve), paste("~", other))),
  case("gaulss of b", gaulss(b=.1), "gaulss(b=0.1)", c(paste("normal ~", curve), paste("~", other, "+ x"))),
  case("gaulss of te", gaulss(), "gaulss", c(paste("normal ~", curve), "~ te(x, z, k=4, sp=c(1, 3))")),
  case("gammals", gammals(), "gammals", c(paste("positive ~", curve), paste("~", other))),
  case("gumbls", gumbls(), "gumbls", c(paste("extreme ~", curve), paste("~", other))),
  case("gevlss", gevlss(), "gevlss", c(paste("extreme ~", curve), paste("~", other), "~ x")),
  case("shash", shash(), "shash", c(paste("skew ~", curve), '~ s(z, bs="ps", k=8, sp=0.3)', "~ g", "~ 1")),
  case("twlss", twlss(), "twlss", c(paste("rain ~", curve), "~ x", paste("~", other))),
  case("twlss of sqrt", twlss(link=list("sqrt", "identity", "identity"), a=1.1, b=1.9),
       'twlss(link=list("sqrt", "identity", "identity"), a=1.1, b=1.9)', c(paste("rain ~", curve), "~ z", paste("~", other))),
  case("ziplss", ziplss(), "ziplss", c(paste("count ~", curve), paste("~", other))),
  case("multinom", multinom(K=2), "multinom(K=2)", c(paste("class ~", curve), paste("~", other, "+ x:g"))),
  case("gaulss with shared terms", gaulss(), "gaulss", c(paste("normal ~", curve), paste("~", other), paste("1 + 2 ~", shared))),
  case("shash with shared terms", shash(), "shash", c(paste("skew ~", curve), '~ s(z, bs="ps", k=8, sp=0.3)', "~ g", "~ 1",
                                                      paste("1 + 2 ~", shared), '3 + 1 ~ s(z, bs="cr", k=5, sp=5) + I(x^2) - 1')),
  case("multinom with shared terms", multinom(K=2), "multinom(K=2)",
       c(paste("class ~", curve), paste("~", other), paste("1 + 2 ~", shared))))
writeLines(jsonlite::toJSON(cases, digits=I(12), auto_unbox=TRUE, na="null"), "several.json")
# select=TRUE, whose penalties of null spaces are those of gam, and not of bam.
formulas <- c('normal ~ s(x, bs="cr", k=9) + s(z, bs="ps", k=8)', '~ s(x, bs="cr", k=5)')
sp <- c(2, .5, .3, 1, 4, .7)
m <- gam(lapply(formulas, as.formula), family=gaulss(), data=d, select=TRUE, sp=sp, control=list(epsilon=1e-13))
writeLines(jsonlite::toJSON(list(formula=paste0("list(", paste(formulas, collapse=", "), ")"), sp=sp, fit=predict(m)[some, ]),
                            digits=I(12), auto_unbox=TRUE), "selected.json")
