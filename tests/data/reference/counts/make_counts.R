# SPDX-License-Identifier: Apache-2.0
# The simulated counts of the n.. cases and the fits of mgcv to them, as they are here; needs R with mgcv and jsonlite.
# Run in tests/data/reference/counts. R 4.2.2, mgcv 1.8-41.
suppressMessages(library(mgcv)); library(jsonlite)
ctl <- gam.control(epsilon=1e-12, maxit=400)
write_columns <- function(file, columns) {
  con <- gzfile(file, "w")
  writeLines(paste(names(columns), collapse=","), con)
  writeLines(do.call(paste, c(columns, sep=",")), con)
  close(con)
}
set.seed(28)
n <- 900
x <- round(runif(n), 4); z <- round(rnorm(n), 3); f <- sample(c("a","b","c"), n, TRUE)
h <- sample(sprintf("h%02d", 1:15), n, TRUE); e <- round(runif(n)*5 + .5, 2); wt <- round(runif(n)*2 + .3, 2)
eta <- 1 + sin(2*pi*x) + .4*z^2/(1 + z^2) + c(a=-.3, b=0, c=.5)[f] + rnorm(15, sd=.3)[as.integer(factor(h))]
d <- data.frame(y=rnbinom(n, size=1.7, mu=exp(eta)), m=rnbinom(n, size=6, mu=e*exp(eta - 1)), x, z, f, h, e, wt)
quoted <- lapply(d, function(v) if (is.character(v)) paste0('"', v, '"') else format(v, digits=15, trim=TRUE))
write_columns("data.csv.gz", quoted)
d$f <- factor(d$f); d$h <- factor(d$h)
save_case <- function(name, formula, family, called, weights=NULL) {
  folder <- file.path("..", name)
  dir.create(folder, showWarnings=FALSE)
  d$.w <- if (is.null(weights)) rep(1, n) else d[[weights]]
  b <- bam(as.formula(formula), family=family, data=d, method="fREML", discrete=FALSE, weights=.w, control=ctl)
  p <- predict(b, se.fit=TRUE)
  write_columns(file.path(folder, "fitted.csv.gz"),
                list(fitted=format(as.numeric(fitted(b)), digits=11), linpred=format(as.numeric(p$fit), digits=11)))
  write_json(list(case=name, note="simulated; see README.md", data_file="../counts/data.csv.gz", n=n, formula=formula,
                  family=called, weights=weights, supplied_knots=NULL,
                  fits=list(bam_fREML_tight=list(kind="bam", control="tight", theta=b$family$getTheta(TRUE),
                    title=b$family$family, log_sp=I(log(as.numeric(b$sp))), edf_total=sum(b$edf), deviance=b$deviance,
                    null_deviance=b$null.deviance, scale=b$sig2, r_squared_adjusted=summary(b)$r.sq, aic=b$aic,
                    se_link50=as.numeric(p$se.fit)[1:50], residuals50=as.numeric(residuals(b))[1:50]))),
             file.path(folder, "ref.json"), digits=NA, auto_unbox=TRUE, null="null", pretty=TRUE)
  cat(name, "theta", b$family$getTheta(TRUE), "edf", sum(b$edf), "iterations", b$iter, "\n")
}
save_case("n01_nb", 'y ~ f + s(x, bs="cr", k=12) + s(z, bs="ps", k=10)', nb(), "nb")
save_case("n02_nb_offset_weights", 'm ~ offset(log(e)) + s(x, bs="ps", k=10) + s(h, bs="re")', nb(), "nb()", weights="wt")
save_case("n03_nb_fixed", 'y ~ f + s(x, bs="cr", k=12) + s(z, bs="ps", k=10)', nb(theta=3), "nb(theta = 3)")
save_case("n04_nb_fixed_offset_weights", 'm ~ offset(log(e)) + f + s(x, bs="cc", k=8)', nb(theta=3), "nb(3, link = log)", weights="wt")
save_case("n05_nb_sqrt", 'y ~ f + s(x, bs="cr", k=12)', nb(link="sqrt"), 'nb(link = "sqrt")')
save_case("n06_nb_identity", 'y ~ s(x, bs="cr", k=8)', nb(link="identity"), "nb(link = identity)")
