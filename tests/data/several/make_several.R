# SPDX-License-Identifier: Apache-2.0
# Families with several linear predictors at given smoothing parameters, by gam of mgcv 1.8-41, R 4.2.2. The log
# likelihood that its multinom gives class 0 is too large by 1 in each row, which is subtracted here; there are no
# standard errors of responses, since those of its gammals, gumbls and ziplss are of other rows or predictors.
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
write.csv(d, "data.csv", row.names=FALSE, quote=FALSE)
d$g <- factor(d$g)
some <- seq(1, n, 8)  # every eighth row
case <- function(name, family, text, formulas) {
  m <- gam(lapply(formulas, as.formula), family=family, data=d, control=list(epsilon=1e-13))
  p <- predict(m, se.fit=TRUE)
  excess <- if (name == "multinom") sum(d$class == 0) else 0
  list(name=name, family=text, formula=paste0("list(", paste(formulas, collapse=", "), ")"), names=names(coef(m)),
       fit=p$fit[some, ], se=p$se.fit[some, ], response=as.matrix(predict(m, type="response"))[some, , drop=FALSE], edf=sum(m$edf),
       reml=as.vector(m$gcv.ubre) + excess, aic=m$aic + 2*excess, deviance=m$deviance,
       null=if (is.null(m$null.deviance)) NA else as.vector(m$null.deviance))
}
curve <- 's(x, bs="cr", k=9, sp=2) + g'
other <- 's(z, bs="ps", k=8, sp=0.3) + offset(o)'
cases <- list(
  case("gaulss", gaulss(), "gaulss", c(paste("normal ~", curve), paste("~", other))),
  case("gaulss of b", gaulss(b=.1), "gaulss(b=0.1)", c(paste("normal ~", curve), paste("~", other, "+ x"))),
  case("gammals", gammals(), "gammals", c(paste("positive ~", curve), paste("~", other))),
  case("gumbls", gumbls(), "gumbls", c(paste("extreme ~", curve), paste("~", other))),
  case("gevlss", gevlss(), "gevlss", c(paste("extreme ~", curve), paste("~", other), "~ x")),
  case("shash", shash(), "shash", c(paste("skew ~", curve), '~ s(z, bs="ps", k=8, sp=0.3)', "~ g", "~ 1")),
  case("ziplss", ziplss(), "ziplss", c(paste("count ~", curve), paste("~", other))),
  case("multinom", multinom(K=2), "multinom(K=2)", c(paste("class ~", curve), paste("~", other, "+ x:g"))))
writeLines(jsonlite::toJSON(cases, digits=I(12), auto_unbox=TRUE, na="null"), "several.json")
