# SPDX-License-Identifier: Apache-2.0
# The simulated table of the m.. cases and the fits of mgcv to it; needs R with mgcv and jsonlite.
# The README says which of the numbers were kept, and under which names.
suppressMessages(library(mgcv)); library(jsonlite)
ctl <- gam.control(epsilon=1e-12, maxit=400)
# bam's null deviance has no offset.
null_deviance <- function(b) if (all(b$offset == 0)) b$null.deviance else
  glm(b$y ~ offset(b$offset), family=b$family, weights=b$prior.weights, start=b$family$linkfun(mean(b$y)) - mean(b$offset), epsilon=1e-15)$deviance
save_case <- function(name, formula, family, data, knots=NULL, weights=NULL, args="") {
  dir.create(name, showWarnings=FALSE)
  d <- data
  con <- file(file.path(name,"data.csv"),"w")
  isf <- sapply(d, function(v) is.factor(v)||is.character(v))
  cols <- lapply(seq_along(d), function(i) if (isf[i]) paste0('"',as.character(d[[i]]),'"') else format(d[[i]],digits=17,trim=TRUE,scientific=NA))
  writeLines(paste(names(d),collapse=","),con); writeLines(do.call(paste,c(cols,sep=",")),con); close(con)
  w <- if (is.null(weights)) rep(1,nrow(d)) else d[[weights]]
  d$.w <- w
  b <- bam(as.formula(formula), family=family, data=d, method="fREML", discrete=FALSE, knots=knots, weights=.w, control=ctl)
  p <- predict(b, se.fit=TRUE)
  s <- summary(b)
  write.csv(data.frame(fitted=format(as.numeric(fitted(b)),digits=17), linpred=format(as.numeric(p$fit),digits=17), se=format(as.numeric(p$se.fit),digits=17)), file.path(name,"fitted.csv"), row.names=FALSE, quote=FALSE)
  write_json(list(formula=formula, family=tolower(b$family$family), args=args, weights=weights, edf=sum(b$edf), scale=b$sig2, reml=as.numeric(b$gcv.ubre), deviance=deviance(b), null_deviance=null_deviance(b), aic=b$aic, AIC=AIC(b), rsq=s$r.sq, log_sp=log(b$sp), conv=b$converged, stable=capture.output(print(s))), file.path(name,"ref.json"), digits=NA, auto_unbox=TRUE)
  cat(name,"edf",sum(b$edf),"dev",deviance(b),"\n")
}
set.seed(11)
n <- 1200
x <- runif(n); z <- rnorm(n); u <- runif(n)*7; f <- factor(sample(c("a","b","c"),n,TRUE)); g <- factor(sample(c("10","2","z9"),n,TRUE)); h <- factor(sample(sprintf("h%02d",1:25),n,TRUE)); e <- runif(n)*5+.5; wt <- runif(n)*2+.3
eta <- sin(2*pi*x)+.4*z^2/(1+z^2)+as.integer(f)*.3+ (as.integer(g)-2)*.4*(f=="b")+cos(2*pi*u/7)+ rnorm(25,sd=.4)[as.integer(h)]
D <- data.frame(y=eta+rnorm(n,sd=.4),x,z,u,f,g,h,e,wt)
D$pois <- rpois(n, e*exp(eta*.5)); D$bin <- rbinom(n,1,plogis(eta-.5)); D$gam <- rgamma(n,shape=3,scale=exp(eta*.4)/3)
D$prop <- rbinom(n,7,plogis(eta-.3))/7; D$trials <- rep(7,n)
save_case("m01_factors_cr_cc", 'y ~ f*g + s(x, bs="ps", k=15) + s(u, bs="cc", k=9) + s(z, bs="cr", k=10)', gaussian(), D)
save_case("m02_weights_re", 'y ~ f:x + g + s(z, bs="ps", k=12, m=c(2,1)) + s(h, bs="re")', gaussian(), D, weights="wt")
save_case("m03_poisson_offset_cp", 'pois ~ f + offset(log(e)) + s(x, bs="cr", k=12) + s(u, bs="cp", k=10)', poisson(), D, knots=list(u=c(0,7)), args="--knots u=0,7")
save_case("m04_te_raw_margins", 'y ~ te(x, z, bs="ps", k=c(6,5), m=list(c(2,2),c(2,2)), np=FALSE) + f', gaussian(), D)
save_case("m05_te_cr_cc", 'y ~ te(x, u, bs=c("cr","cc"), k=c(6,7))', gaussian(), D)
save_case("m06_binomial_trials_by", 'prop ~ s(x, bs="ps", k=10) + f + s(z, by=f, bs="cr", k=8)', binomial(), D, weights="trials")
save_case("m07_gamma_weights", 'gam ~ f + s(x, bs="ps", k=10) + s(h, bs="re") + log(e) + I(z^2)', Gamma(link="log"), D, weights="wt")
save_case("m08_numeric_by", 'y ~ s(x, by=z, bs="ps", k=10) + s(u, bs="cc", k=12)', gaussian(), D, knots=list(u=c(0,7)), args="--knots u=0,7")
save_case("m10_binary_no_intercept_te", 'bin ~ f - 1 + s(x, bs="cr", k=10) + te(z, u, bs="ps", k=5)', binomial(), D)
save_case("m12_te_by_factor", 'y ~ te(x, z, by=f, bs="ps", k=c(5,5)) + f', gaussian(), D)
save_case("m13_poisson_te_re", 'pois ~ te(x, z, bs=c("cr","ps"), k=c(5,6)) + s(f, bs="re") + s(g, bs="re")', poisson(), D)
save_case("m14_cr_supplied_knots", 'y ~ s(z, bs="cr", k=10)', gaussian(), D, knots=list(z=c(-4,-2,-1.5,-1,-.5,0,.5,1,2,4)), args="--knots z=-4,-2,-1.5,-1,-.5,0,.5,1,2,4")
save_case("m15_probit", 'bin ~ f + s(x, bs="ps", k=10) + s(u, bs="cc", k=8)', binomial(link="probit"), D)
save_case("m16_inverse_gaussian", 'gam ~ s(x, bs="ps", k=10) + f', inverse.gaussian(link="log"), D, weights="wt")
