# SPDX-License-Identifier: Apache-2.0
# Series with AR1 residuals, and mgcv's fits of them: bam's for gaussian models; for other families the fixed point of
# the iteration of bam(discrete=TRUE), whose working models bam fits as gaussian ones. (bam itself halves steps by a
# deviance without correlation, and so stops before it.) Needs R with mgcv and jsonlite. R 4.2.2, mgcv 1.8-41.
suppressMessages(library(mgcv)); library(jsonlite)
set.seed(11)
n <- 1200
series <- rep(1:24, each=50)
t <- rep(1:50, 24)/50
e <- unlist(lapply(1:24, function(i) as.numeric(arima.sim(list(ar=.7), 50))))*.3
d <- data.frame(x=round(runif(n), 4), z=round(rnorm(n), 3), t=t, g=sprintf("g%02d", series), h=sample(letters[1:8], n, TRUE),
                f=rep(c("a", "b", "c"), length.out=24)[series], q=sample(c("u", "v"), n, TRUE), w=round(runif(n, .5, 2), 2),
                o=round(rnorm(n), 2), start=c(TRUE, diff(series) != 0))
eta <- with(d, sin(6*x) + 3*t^2 + .3*z + sin(5*x*t) + rnorm(24, sd=.4)[series] + (f == "b")*cos(4*t) + (f == "c")*sin(7*t) + (q == "u")*sin(5*t))
d$y <- round(eta + e, 4)
d$counts <- rpois(n, exp(.3 + eta/4 + e*.6))
d$positive <- signif(rgamma(n, 3, scale=exp(.3 + eta/4 + e*.6)/3), 5)
# Series with missing rows; two lack their first row.
d$x[sample(n, 15)] <- NA
d$y[c(1, 5, 101, 551, sample(n, 15))] <- NA
con <- gzfile("data.csv.gz", "w"); write.csv(d, con, row.names=FALSE); close(con)
for (v in c("g", "h", "f", "q")) d[[v]] <- factor(d[[v]])
control <- gam.control(epsilon=1e-13, maxit=400)
value <- function(text, otherwise) if (is.null(text)) otherwise else eval(parse(text=text), d)
cases <- list()
save_case <- function(formula, rho, start="start", family="gaussian", weights=NULL, offset=NULL, subset=NULL) {
  table <- d
  table$.w <- value(weights, rep(1, n)); table$.o <- value(offset, rep(0, n)); table$.s <- value(subset, rep(TRUE, n))
  table$.start <- value(start, rep(FALSE, n))
  response <- all.vars(as.formula(formula))[1]
  chosen <- eval(parse(text=family))
  if (is.function(chosen)) chosen <- chosen()
  gaussian <- chosen$family == "gaussian"
  table <- table[table$.s & complete.cases(table[c(all.vars(as.formula(formula)), ".w", ".o")]), ]
  # With chunk.size above n bam forgets to subtract an offset where there is rho.
  fit <- function(z, w, rho) {
    working <- update(as.formula(formula), .z ~ .)
    table$.z <- z - table$.o; table$.v <- w
    arguments <- list(working, data=table, weights=quote(.v), rho=rho, chunk.size=1e5, control=control,
                      scale=if (chosen$family %in% c("poisson", "binomial")) 1 else 0)
    if (!is.null(start)) arguments$AR.start <- quote(.start)
    do.call(bam, arguments)
  }
  y <- table[[response]]
  if (gaussian) {
    b <- fit(y, table$.w, rho)
    score <- c(b$gcv.ubre, fit(y, table$.w, 0)$gcv.ubre)
    residuals <- b$std.rsd
    aic <- b$aic
  } else {
    eta <- log(y + .1)
    for (i in 1:100) {
      mu <- exp(eta)
      b <- fit(eta + (y - mu)/mu, table$.w*mu^2/chosen$variance(mu), rho)
      before <- eta
      eta <- as.numeric(predict(b)) + table$.o
      if (max(abs(eta - before)) < 1e-12) break
    }
    mu <- exp(eta)
    residuals <- sign(y - mu)*sqrt(chosen$dev.resids(y, mu, table$.w))
    ends <- if (is.null(start)) NULL else table$.start
    residuals <- mgcv:::AR.resid(residuals, rho, ends)
    aic <- chosen$aic(y, 1, mu, table$.w, b$sig2*sum(table$.w)) - 2*(nrow(table) - sum(ends))*log(1/sqrt(1 - rho^2)) + 2*sum(b$edf)
    score <- NULL
  }
  p <- predict(b, se.fit=TRUE)
  some <- seq(1, nrow(table), by=7)
  cases[[length(cases) + 1]] <<- Filter(Negate(is.null), list(
    formula=formula, family=family, rho=rho, start=start, weights=weights, offset=offset, subset=subset,
    rows=I(match(rownames(table), rownames(d))[some] - 1), link=signif(as.numeric(p$fit)[some], 11), range=diff(range(p$fit)),
    se=signif(as.numeric(p$se.fit)[some], 9), residuals=signif(residuals[some], 8), edf=sum(b$edf), log_sp=I(log(as.numeric(b$sp))), scale=b$sig2,
    aic=if (is.finite(aic)) aic, score=score, intercept=b$coefficients[[1]]))
  cat(formula, "edf", sum(b$edf), "sp", b$sp, "\n")
}
save_case('y ~ s(x, bs="cr") + s(t, bs="ps")', .6)
save_case('y ~ f + z + s(x, bs="cr") + s(t, by=f, bs="cr", k=6)', .45, weights="w")
save_case('y ~ s(t, x, k=20) + s(h, bs="re") + z', .7, start=NULL)
save_case('y ~ q + s(t, by=q, bs="ps", k=8) + s(g, bs="re") + s(x, k=8)', .5, subset="z < 1.2 & f != 'c'")
save_case('y ~ te(t, x, k=4) + s(g, t, bs="re") + s(g, bs="re")', -.3, offset="o/2")
save_case('y ~ s(x, bs="cr") + s(t, bs="ps")', .9, start="t == 1/50", weights="w")
save_case('y ~ s(x, bs="cr", k=6) + te(x, t, bs="cr", k=4) + f', .5, weights="w")
save_case('counts ~ s(x, bs="cr") + s(t, bs="ps", k=8) + q + s(h, bs="re")', .3, family="poisson")
save_case('counts ~ f + s(x, bs="cr", k=8) + s(t, bs="cr", k=8)', .3, family="quasipoisson", offset="log(w)")
save_case('positive ~ f + s(x, bs="cr", k=8) + s(t, bs="cr", k=6)', .35, family="Gamma(log)", weights="w")
con <- gzfile("fits.json.gz", "w"); write(toJSON(cases, digits=NA, auto_unbox=TRUE), con); close(con)
