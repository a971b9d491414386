# SPDX-License-Identifier: Apache-2.0
# Writes the reference cases of the data frame `d`, which is data.csv.gz of the folder that R runs in.
suppressMessages(library(mgcv)); library(jsonlite)
ctl <- gam.control(epsilon=1e-12, maxit=400)
write_columns <- function(file, columns) {
  con <- gzfile(file, "w")
  writeLines(paste(names(columns), collapse=","), con)
  writeLines(do.call(paste, c(columns, sep=",")), con)
  close(con)
}
write_table <- function(d) {
  quoted <- lapply(d, function(v) if (is.character(v)) paste0('"', v, '"') else format(v, digits=15, trim=TRUE))
  write_columns("data.csv.gz", quoted)
}
# `...`: further arguments of the reference fit. `exact`: a function of the fit and its weights that replaces mgcv's.
save_case <- function(name, formula, family, called, weights=NULL, exact=function(b, w) list(), ...) {
  folder <- file.path("..", name)
  dir.create(folder, showWarnings=FALSE)
  d$.w <- if (is.null(weights)) rep(1, nrow(d)) else d[[weights]]
  b <- bam(as.formula(formula), family=family, data=d, method="fREML", discrete=FALSE, weights=.w, control=ctl)
  p <- predict(b, se.fit=TRUE)
  write_columns(file.path(folder, "fitted.csv.gz"),
                list(fitted=format(as.numeric(fitted(b)), digits=11), linpred=format(as.numeric(p$fit), digits=11)))
  write_json(list(case=name, note="simulated; see README.md", data_file=file.path("..", basename(getwd()), "data.csv.gz"), n=nrow(d), formula=formula,
                  family=called, weights=weights, supplied_knots=NULL,
                  fits=list(bam_fREML_tight=modifyList(list(kind="bam", control="tight", theta=if (is.function(b$family$getTheta)) b$family$getTheta(TRUE),
                    title=b$family$family, log_sp=I(log(as.numeric(b$sp))), edf_total=sum(b$edf), deviance=b$deviance,
                    null_deviance=b$null.deviance, scale=b$sig2, r_squared_adjusted=summary(b)$r.sq, aic=b$aic,
                    se_link50=as.numeric(p$se.fit)[1:50], residuals50=as.numeric(residuals(b))[1:50], ...), exact(b, d$.w)))),
             file.path(folder, "ref.json"), digits=NA, auto_unbox=TRUE, null="null", pretty=TRUE)
  cat(name, b$family$family, "edf", sum(b$edf), "iterations", b$iter, "\n")
}
