# SPDX-License-Identifier: Apache-2.0
# The simulated table of the q.. cases, and fits of it by mgcv with the family `elf` of qgam, and by qgam; needs R with mgcv
# and jsonlite, and the files R/*.R of qgam 2.0.0 (github.com/cran/qgam, commit 5e12a60) in the folder QGAM.
# Run in tests/data/reference/elf: QGAM=... Rscript make_elf.R. R 4.2.2, mgcv 1.8-41.
source("../save_case.R")
is.formula <- function(x) inherits(x, "formula")  # of plyr
for (file in list.files(Sys.getenv("QGAM"), full.names=TRUE)) source(file)
set.seed(5)
n <- 800
x <- round(runif(n), 4); z <- round(runif(n), 4); f <- sample(c("a", "b", "c"), n, TRUE)
e <- round(runif(n), 2); wt <- round(runif(n)*2 + .3, 2)
y <- round(2*sin(2*pi*x) + z^2 + c(a=0, b=.5, c=1)[f] + rgamma(n, 2, 1 + x), 4)
d <- data.frame(y, u=round(y + e, 4), x, z, f, e, wt)
write_table(d)
d$f <- factor(d$f)
# bam with discrete=FALSE fails, since working responses are huge where working weights vanish. With discrete=TRUE nothing
# is rounded: the numbers have fewer than 1000 different values. It begins at the coefficients of gam.
tight <- gam.control(epsilon=1e-12, maxit=500)
bam <- function(formula, family, data, method, discrete, weights, control) {
  first <- gam(formula, family=family, data=data, weights=.w, method="REML")
  b <- mgcv::bam(formula, family=family, data=data, weights=.w, discrete=TRUE, coef=coef(first), control=tight)
  at_sp <- gam(formula, family=family, data=data, weights=.w, sp=b$sp, control=tight)
  cat("by gam: predictors differ by", max(abs(predict(first) - predict(b)))/diff(range(predict(b))), "of their range, at bam's sp by",
      max(abs(predict(at_sp) - predict(b)))/diff(range(predict(b))), "\n")
  b
}
environment(save_case) <- environment()
# mgcv's find.null.dev searches with a large tolerance.
exact <- function(qu) function(b, w) {
  offset <- if (is.null(b$offset)) 0 else b$offset
  deviance <- function(a) sum(b$family$dev.resids(b$y, a + offset, w))
  list(null_deviance=optimize(deviance, range(b$y - offset), tol=1e-9)$objective, title=sprintf("elf(qu=%s)", qu), theta=NULL)
}
called <- function(qu, lsig, co) sprintf("elf(qu=%s, lsig=%s, co=%s)", qu, lsig, co)
save_quantile <- function(name, formula, qu, lsig, co, ...)
  save_case(name, formula, elf(theta=lsig, qu=qu, co=co), called(qu, lsig, co), exact=exact(qu), ...)
two <- 's(x, bs="cr", k=12) + s(z, bs="ps", k=10)'
save_quantile("q01_elf", paste("y ~ f +", two), 0.5, -0.7, 0.15)
save_quantile("q02_elf_offset_weights", paste("u ~ offset(e) +", two), 0.25, -1.2, 0.1, weights="wt")
save_quantile("q03_elf_high", paste("y ~ f +", two), 0.99, -0.7, 0.15)

# qgam's own: by gam, and err by bam, which estimates fREML as the engine does.
of_qgam <- lapply(c(0.1, 0.5, 0.9, 0.99), function(qu) {
  form <- as.formula(paste("y ~ f +", two))
  q <- qgam(form, d, qu=qu, control=list(progress=FALSE))
  first <- mgcv::bam(form, data=d)
  err_of_bam <- .getErrParam(qu, first, first$sig2)
  cat("qgam", qu, q$calibr$lsig, q$calibr$err, err_of_bam, sum(q$edf), "\n")
  list(qu=qu, lsig=q$calibr$lsig[[1]], err=q$calibr$err[[1]], err_of_bam=err_of_bam, co=q$family$getCo(),
       co_of_bam=err_of_bam*sqrt(2*pi*first$sig2)/(2*log(2)), edf_total=sum(q$edf), fitted=round(as.numeric(fitted(q)), 6))
})
write_json(list(formula=paste("y ~ f +", two), quantiles=of_qgam), "qgam.json", digits=NA, auto_unbox=TRUE)
