# SPDX-License-Identifier: Apache-2.0
# Writes data.csv and cases.json: models with nested smooths, and mgcv's fits of them.
#
#   Rscript make_nested.R        (made with R 4.2.2 and mgcv 1.8-41)
#
# `gam` has the side conditions of tessera-fit. `bam` has the same, but drops other columns of the larger smooth, since
# its constraints make other coordinates; where nothing is nested and columns are dependent, `bam` has the degrees of
# freedom of the remaining columns, and `gam` those of all.
suppressMessages(library(mgcv))

set.seed(10)
n <- 500
d <- data.frame(mon = round(runif(n, 0, 12), 3), lat = round(runif(n, 40, 60), 3),
                yr = round(runif(n, 1990, 2020), 2), x = round(runif(n), 4), z = round(runif(n), 4),
                w = round(rnorm(n), 3), month = sample(1:12, n, TRUE),
                f = sample(c("A", "B", "C"), n, TRUE, prob = c(0.5, 0.3, 0.2)),
                g = paste0("g", sample(1:6, n, TRUE)))
d$h <- ifelse(d$f == "C", "u", sample(c("u", "v"), n, TRUE))  # no row of C and v
d$k <- ifelse(d$f == "A", "p", "q")  # f is within k
group <- as.integer(factor(d$f))
d$y <- with(d, round(sin(2 * pi * mon / 12) + 0.03 * cos(2 * pi * mon / 12) * (lat - 50) + 0.5 * sin(6 * x) + z * x +
                     0.5 * group * x + 0.02 * (yr - 2005) * sin(2 * pi * mon / 12) + rnorm(n) * 0.4, 4))
write.csv(d, "data.csv", row.names = FALSE)
d <- read.csv("data.csv", stringsAsFactors = TRUE)

numbers <- function(v) {
  text <- ifelse(is.nan(v), "null", sprintf("%.15g", v))
  paste0("[", paste(text, collapse = ", "), "]")
}

# `terms` false: the coordinates decide which term keeps the shared part.
case <- function(formula, engine, terms = TRUE) {
  control <- gam.control(epsilon = 1e-12, newton = list(conv.tol = 1e-11))
  fit <- suppressWarnings(
    if (engine == "gam") gam(formula, data = d, method = "REML", control = control)
    else bam(formula, data = d, method = "fREML", chunk.size = 1e6, control = control))
  table <- suppressWarnings(summary(fit))
  parametric <- table$p.table[table$p.table[, 2] > 0, , drop = FALSE]  # zero: left out
  fitted <- predict(fit, d[1:8, ], se.fit = TRUE)
  text <- gsub(" +", " ", paste(deparse(formula), collapse = ""))
  paste0('{"formula": "', gsub('"', '\\\\"', text), '", "engine": "', engine,
         '", "terms": ', if (terms) "true" else "false", ',\n  "edf": ', numbers(table$s.table[, 1]), ',\n  "ref_df": ', numbers(table$s.table[, 2]),
         ',\n  "F": ', numbers(table$s.table[, 3]), ',\n  "p": ', numbers(table$s.table[, 4]),
         ',\n  "coefficients": ', if (engine == "gam") length(coef(fit)) else fit$rank,
         ',\n  "estimates": ', numbers(parametric[, 1]), ',\n  "standard_errors": ', numbers(parametric[, 2]),
         ',\n  "total_edf": ', sprintf("%.15g", sum(fit$edf)), ',\n  "scale": ', sprintf("%.15g", fit$sig2),
         ',\n  "deviance": ', sprintf("%.15g", deviance(fit)),
         ',\n  "fitted": ', numbers(fitted$fit), ',\n  "se": ', numbers(fitted$se.fit), '}')
}

nested <- list(
  y ~ s(mon, bs = "cp") + te(lat, mon, bs = c("cr", "cp")),
  y ~ te(mon, yr, k = 4) + te(mon, lat, k = 4),
  y ~ s(z, bs = "ps", m = c(2, 1)) + te(x, z, bs = "ps", k = c(6, 6)),
  y ~ s(x, bs = "cr", k = 5) + s(z, bs = "cr", k = 5) + te(x, z),
  y ~ te(x, z) + s(x, bs = "cr", k = 20) + s(g, bs = "re"),
  y ~ s(x, bs = "cr", k = 6) + s(z, bs = "cr", k = 6) + s(w, bs = "cr", k = 6) + te(x, z, k = 4) +
    te(x, z, w, k = c(4, 4, 3)),
  y ~ f + s(x, by = f, bs = "cr", k = 6) + te(x, z, by = f, k = 4),
  y ~ s(month, bs = "cc", k = 8) + te(month, lat, bs = c("cc", "cr"), k = c(6, 4)),
  y ~ 0 + f + s(x, bs = "cr", k = 7) + te(x, z, bs = "ps", k = 6))
shared <- list(
  y ~ k + f + yr:k + s(z, bs = "cr"),
  y ~ f * h * yr + s(z, bs = "cr"),
  y ~ s(x, bs = "cr") + s(x, by = f, bs = "cr", k = 8),
  y ~ z + s(x, by = z, bs = "cr"),
  y ~ x + s(x, bs = "cr") + s(z, bs = "cr"))
random <- list(
  y ~ s(x, bs = "cr") + s(g, bs = "re") + s(g, x, bs = "re"),
  y ~ s(mon, bs = "cp") + s(g, f, bs = "re"),
  y ~ x + s(x, f, z, bs = "re"))
cases <- c(vapply(nested, case, "", engine = "gam"), case(y ~ f * h + s(x, bs = "cr"), "bam"),
           case(y ~ f * h + s(g, bs = "re") + s(x, bs = "cr"), "bam"),
           vapply(random, case, "", engine = "bam"),
           vapply(shared, case, "", engine = "bam", terms = FALSE))
writeLines(c("[", paste(cases, collapse = ",\n"), "]"), "cases.json")
