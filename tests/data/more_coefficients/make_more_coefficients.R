# SPDX-License-Identifier: Apache-2.0
# Penalised fits with more coefficients than rows, which mgcv refuses before 1.9: from its matrices, by performance
# iteration and REML as defined. R 4.2.2, mgcv 1.8-41.
suppressMessages(library(mgcv))
set.seed(5)
n <- 15
d <- data.frame(x=round(runif(n), 3), z=round(runif(n), 3), w=round(runif(n, .5, 2), 2))
d$y <- round(sin(6*d$x) + cos(5*d$z) + rnorm(n)*.2, 4)
d$count <- rpois(n, exp(3 + sin(6*d$x) + cos(5*d$z)/2 + rnorm(n)*.3))
d$g <- sprintf("g%02d", 1:n)
write.csv(d, "data.csv", row.names=FALSE, quote=which(names(d) == "g"))
d$g <- factor(d$g)
case <- function(formula, family, weights=NULL, sp=NULL) {
  # Repeating the same rows changes neither knots nor constraints.
  setup <- gam(as.formula(formula), data=d[rep(1:n, 9), ], fit=FALSE)
  X <- setup$X[1:n, ]; p <- ncol(X)
  S <- lapply(seq_along(setup$S), function(j) { s <- matrix(0, p, p); i <- setup$off[j] - 1 + seq_len(ncol(setup$S[[j]])); s[i, i] <- setup$S[[j]]; s })
  y <- d[[sub(" ~.*", "", formula)]]; prior <- if (is.null(weights)) rep(1, n) else d[[weights]]
  total <- function(l) Reduce(`+`, Map(function(s, one) s*one, S, exp(l)))
  rank <- qr(Reduce(`+`, lapply(S, function(s) s/norm(s))))$rank
  log_det <- function(a) sum(log(eigen(a, symmetric=TRUE, only.values=TRUE)$values))
  log_det_plus <- function(a) sum(log(eigen(a, symmetric=TRUE, only.values=TRUE)$values[1:rank]))
  M <- p - rank; known <- family$family == "poisson"
  solve_at <- function(l, z, W) { A <- crossprod(sqrt(W)*X) + total(l); b <- solve(A, crossprod(X, W*z)); list(A=A, b=b, penalised=sum(W*(z - X %*% b)^2) + sum(b*(total(l) %*% b))) }
  criterion <- function(l, z, W) { at <- solve_at(l, z, W); (if (known) at$penalised/2 else (n - M)/2*log(at$penalised)) + (log_det(at$A) - log_det_plus(total(l)))/2 }
  l <- if (is.null(sp)) rep(0, length(S)) else log(sp)
  mu <- if (known) y + .1 else y; eta <- family$linkfun(mu)
  for (i in 1:200) {
    W <- prior*family$mu.eta(eta)^2/family$variance(mu); z <- eta + (y - mu)/family$mu.eta(eta); before <- eta
    if (is.null(sp)) {
      l <- optim(l, criterion, z=z, W=W, method="L-BFGS-B", lower=-12, upper=25, control=list(factr=10, maxit=1000))$par
      l <- nlm(criterion, l, z=z, W=W, gradtol=1e-12, steptol=1e-12, stepmax=.1, iterlim=500)$estimate
    }
    at <- solve_at(l, z, W); eta <- as.numeric(X %*% at$b); mu <- family$linkinv(eta)
    if (max(abs(eta - before)) < 1e-12) break
  }
  edf <- sum(diag(solve(at$A, crossprod(sqrt(W)*X))))
  # With given smoothing parameters the scale is the variance of the residuals.
  scale <- if (known) 1 else if (is.null(sp)) at$penalised/(n - M) else sum(W*(z - eta)^2)/(n - edf)
  list(formula=formula, family=family$family, weights=weights, coefficients=p, edf=edf, scale=scale,
       fit=eta, se=sqrt(scale*rowSums(X*t(solve(at$A, t(X))))))
}
cases <- list(case("y ~ s(x, k = 10) + s(z, k = 10)", gaussian()),
              case("y ~ s(x, bs = \"cr\", k = 10) + s(z, bs = \"ps\", k = 10)", gaussian(), weights="w"),
              case("count ~ te(x, z, k = 5)", poisson(), weights="w"),
              case("count ~ s(x, bs = \"cr\", k = 10) + s(z, k = 10)", poisson()),
              case("count ~ s(x, bs = \"cr\", k = 6) + s(g, bs = \"re\")", poisson()),
              case("y ~ s(x, bs = \"cr\", k = 6, sp = 0.1) + s(g, bs = \"re\", sp = 1.5)", gaussian(), sp=c(.1, 1.5)),
              case("count ~ te(x, z, k = 6, sp = c(0.3, 2))", poisson(), weights="w", sp=c(.3, 2)))
text <- function(one) if (is.null(one)) '""' else if (is.character(one)) paste0('"', gsub('"', '\\\\"', one), '"') else
  paste0(if (length(one) > 1) "[", paste(format(one, digits=12, trim=TRUE), collapse=", "), if (length(one) > 1) "]")
writeLines(c("[", paste0(sapply(cases, function(one) paste0("{", paste0('"', names(one), '": ', sapply(one, text), collapse=", "), "}")),
                         c(rep(",", length(cases) - 1), "")), "]"), "more_coefficients.json")
