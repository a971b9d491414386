# SPDX-License-Identifier: Apache-2.0
# Writes data.csv.gz and fits.json: numeric columns far from zero. Run in this folder with R 4.2 and mgcv 1.8-41.
#
# The reference is bam() with explicitly centred and scaled variables, since bam() drops raw columns that it cannot
# distinguish. If a case has C, the coefficients of the raw columns are beta = C b.
suppressMessages(library(mgcv))
library(jsonlite)

set.seed(11)
n <- 240
d <- data.frame(x = round(runif(n), 6), f = sample(c("a", "b", "c"), n, TRUE), g = sample(c("p", "q"), n, TRUE),
                northing = 5.5e6 + round(runif(n, -1000, 1000), 3), easting = 4e5 + round(runif(n, -1000, 1000), 3),
                yr = sample(1950:2020, n, TRUE), old = sample(1500:2020, n, TRUE),
                sec = 1.7e9 + round(runif(n, -1e7, 1e7)), jd = 2.45e6 + round(runif(n, -2000, 2000), 2),
                far = 1e7 + round(runif(n), 4), w = round(runif(n, 0.5, 2), 3) * 1e-8)
centred <- function(d) {
  d$N <- (d$northing - 5.5e6) / 1e3; d$E <- (d$easting - 4e5) / 1e3; d$Y <- (d$yr - 1985) / 35
  d$O <- (d$old - 1760) / 260; d$S <- (d$sec - 1.7e9) / 1e7; d$J <- (d$jd - 2.45e6) / 2000
  d
}
d <- centred(d)
level <- sin(6 * d$x) + round(rnorm(n) * 0.3, 6)
d$y_north <- round(level + d$N + (d$f == "b") * 0.5 * d$N, 9)
d$y_year <- round(level + d$Y - 1.2 * d$Y^2 + 0.1 * d$Y^3, 9)
d$y_old <- round(level + d$O - d$O^2 + d$O^3, 9)
d$y_sec <- round(level + d$S + 0.2 * d$S^2, 9)
d$y_far <- d$y_north + 1e6
d$y_offset <- d$y_north + d$far
d$count <- rpois(n, exp(0.3 * sin(6 * d$x) + d$N / 2 + d$Y / 2))
d$gain <- signif(rgamma(n, 3, 3 / exp(0.3 * sin(6 * d$x) + d$Y / 2)), 9)
raw <- d[, setdiff(names(d), c("N", "E", "Y", "O", "S", "J"))]
file <- gzfile("data.csv.gz", "w")
write.csv(format(raw, digits = 17, trim = TRUE), file, row.names = FALSE, quote = FALSE)
close(file)
d <- centred(read.csv("data.csv.gz", stringsAsFactors = TRUE))

# Row i of a polynomial's C: the coefficient of x^(i-1) from those of ((x - c) / s)^k.
polynomial <- function(c, s, degree)
  outer(0:degree, 0:degree, function(i, k) ifelse(k >= i, choose(k, i) * (-c)^pmax(k - i, 0) / s^k, 0))
plane <- kronecker(polynomial(4e5, 1e3, 1), polynomial(5.5e6, 1e3, 1))  # 1, northing, easting, northing:easting

s <- " + s(x, bs=\"cr\")"
case <- function(formula, centred, family = "gaussian", weights = NULL, C = NULL, smooth = s)
  list(formula = formula, centred = centred, family = family, weights = weights, C = C, smooth = smooth)
# A smooth by a number cannot be centred explicitly, since its penalised function would change. gam's QR of the whole X
# has enough digits, and bam's of blocks of X drops columns.
by <- function(formula, smooth) c(case(formula, formula, smooth = smooth), whole = TRUE)
cases <- list(
  northing = case("y_north ~ northing", "y_north ~ N", C = polynomial(5.5e6, 1e3, 1)),
  years = case("y_year ~ yr + I(yr^2)", "y_year ~ Y + I(Y^2)", C = polynomial(1985, 35, 2)),
  years_cubic = case("y_year ~ yr + I(yr^2) + I(yr^3)", "y_year ~ Y + I(Y^2) + I(Y^3)", C = polynomial(1985, 35, 3)),
  centuries = case("y_old ~ old + I(old^2) + I(old^3)", "y_old ~ O + I(O^2) + I(O^3)", C = polynomial(1760, 260, 3)),
  seconds = case("y_sec ~ sec + I(sec^2)", "y_sec ~ S + I(S^2)", C = polynomial(1.7e9, 1e7, 2)),
  julian = case("y_north ~ jd + northing", "y_north ~ J + N"),
  utm = case("y_north ~ northing * easting", "y_north ~ N * E", C = plane),
  three = case("y_north ~ northing * easting * yr", "y_north ~ N * E * Y"),
  by_level = case("y_north ~ f * northing", "y_north ~ f * N"),
  by_two_factors = case("y_north ~ f * g * northing", "y_north ~ f * g * N"),
  nested = case("y_north ~ f + f:northing", "y_north ~ f + f:N"),
  curve_by_level = case("y_year ~ f * (yr + I(yr^2))", "y_year ~ f * (Y + I(Y^2))"),
  no_intercept = case("y_north ~ 0 + f + northing", "y_north ~ 0 + f + N"),
  far_response = case("y_far ~ northing", "I(y_far - 1e6) ~ N"),
  far_levels = case("y_far ~ 0 + f", "I(y_far - 1e6) ~ 0 + f"),
  far_offset = case("y_offset ~ offset(far) + northing", "I(y_offset - far) ~ N"),
  tiny_weights = case("y_north ~ northing", "y_north ~ N", weights = "w"),
  poisson = case("count ~ northing + yr + I(yr^2)", "count ~ N + Y + I(Y^2)", "poisson"),
  gamma = case("gain ~ yr + I(yr^2)", "gain ~ Y + I(Y^2)", "gamma"),
  by = by("y_north ~ f", " + s(x, by=northing, bs=\"cr\")"),
  by_p_spline = by("y_north ~ 0 + f", " + s(x, by=northing, bs=\"ps\", k=12)"),
  by_and_line = by("y_north ~ x", " + s(x, by=northing, bs=\"cr\", k=6)"),
  by_surface = by("y_north ~ f", " + te(x, easting, by=northing, bs=\"cr\", k=c(6, 4))"),
  by_beside_surface = by("y_north ~ 1", " + s(x, bs=\"ps\") + te(x, easting, by=northing, bs=\"ps\", k=c(5, 5))"))
fits <- lapply(cases, function(one) {
  family <- switch(one$family, gaussian = gaussian(), poisson = poisson(), gamma = Gamma(link = "log"))
  # Relative weights: bam's own tolerance is absolute.
  d$.w <- if (is.null(one$weights)) rep(1, n) else d[[one$weights]] * 1e8
  control <- gam.control(epsilon = 1e-12, newton = list(conv.tol = 1e-10))
  formula <- as.formula(paste(one$centred, one$smooth))
  m <- if (is.null(one$whole)) bam(formula, data = d, family = family, weights = .w, method = "fREML", control = control)
       else suppressWarnings(gam(formula, data = d, family = family, weights = .w, method = "REML", control = control))
  p <- predict(m, se = TRUE)
  out <- list(formula = paste0(one$formula, one$smooth), family = one$family, edf = sum(m$edf), fit = unname(p$fit),
              se = unname(p$se.fit))
  if (!is.null(one$weights)) out$weights <- one$weights
  if (!is.null(one$C)) {
    k <- seq_len(nrow(one$C))
    b <- coef(m)[k]; V <- vcov(m)[k, k]
    # bam has northing, easting, northing:easting in the order of C.
    out$coef <- unname(drop(one$C %*% b))
    out$coef_se <- unname(sqrt(diag(one$C %*% V %*% t(one$C))))
  }
  out
})
# The constants that were subtracted from the responses above.
fits$far_response$fit <- fits$far_response$fit + 1e6
fits$far_levels$fit <- fits$far_levels$fit + 1e6
fits$far_offset$fit <- fits$far_offset$fit + d$far
write_json(fits, "fits.json", digits = NA, auto_unbox = TRUE)
