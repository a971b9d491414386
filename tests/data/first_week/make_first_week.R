# SPDX-License-Identifier: Apache-2.0
# Writes table.csv, new.csv and cases.json: typical first uses of tessera-fit, and R's results.
#
#   Rscript make_first_week.R        (made with R 4.2.2 and mgcv 1.8-41)
#
# Models without smooths are of glm(), others of bam(method = "fREML"). Columns in quotes that hold numbers are
# factors in tessera-fit, and numbers in read.csv(): here they are made factors, the levels of numbers in
# numerical order.
suppressMessages(library(mgcv))

set.seed(26)
n <- 160
pick <- function(...) sample(c(...), n, TRUE)
t <- data.frame(x = round(runif(n), 3), z = round(runif(n), 3), month = pick(1:12), year = pick(8:11))
t$g <- pick("b", "a", "c")
t$flag <- pick(TRUE, FALSE)
t$short <- ifelse(t$flag, "T", "F")
t$zip <- as.character(pick(10, 9, 100))
t$code <- pick("02", "01", "10")
t$messy <- pick("2.5", "1", "01", "1.0", "2.50", "10")
t$w <- pick(1:3)
t$e <- round(runif(n, 1, 5), 2)
t$trials <- pick(1:9)
eta <- with(t, 1.5 * x - 0.7 + 0.6 * (g == "b") - 0.5 * flag + 0.1 * (year - 9))
s <- rbinom(n, 1, plogis(2 * eta))
t$y <- round(eta + sin(4 * t$x) + 0.3 * cos(pi * t$month / 6) + rnorm(n) / 3, 3)
t$count <- rpois(n, exp(eta) * t$e)
t$cost <- round(rgamma(n, 3, 3 / exp(eta)), 4) + 0.001
t$s <- s
t$answer <- c("no", "yes")[s + 1]
t$won <- s == 1
t$tf <- c("F", "T")[s + 1]
t$digit <- as.character(s)
t$coded <- s + 1        # 1 and 2
t$nine <- s + 9         # 9 and 10, whose bytes are in the other order
t$upside <- c("yes", "alive")[s + 1]
t$share <- rbinom(n, t$trials, plogis(eta)) / t$trials
t$size <- pick("s", "m", "l")
t$x2 <- t$x             # has gaps
t$x2[c(3, 50, 51, 120)] <- NA
t$gaps <- t$answer
t$gaps[c(7, 60)] <- NA
t$gaps[c(3, 50)] <- "maybe"  # in rows without x2 alone
t$same <- "yes"
t$year2 <- t$year       # numbers with a gap
t$year2[c(10, 20)] <- NA
t$qy <- as.character(t$y)
t$qx <- as.character(t$x)
t$qw <- as.character(t$w)
quoted <- which(names(t) %in% c("zip", "code", "digit", "answer", "qy", "qx", "qw"))
t$share <- round(t$share * t$trials) / t$trials
write.csv(t, "table.csv", row.names = FALSE, quote = quoted)
# Levels in another order, and rows without a response.
new <- t[c(9, 2, 77, 31, 15, 140, 64, 100), ]
write.csv(new[, setdiff(names(new), c("y", "count", "cost", "s", "answer"))], "new.csv", row.names = FALSE,
          quote = FALSE)

d <- read.csv("table.csv", stringsAsFactors = TRUE)
new <- t[rownames(new), ]
as_levels <- function(t) {
  t <- transform(t, g = factor(g), zip = factor(as.numeric(zip)), code = factor(code), messy = factor(as.numeric(messy)),
                 size = factor(size), qx = as.numeric(qx), qy = as.numeric(qy), qw = as.numeric(qw),
                 tf = tf == "T", short = short == "T", answer = factor(answer),
                 digit = factor(digit), upside = factor(upside), gaps = factor(gaps))
  t
}
d <- as_levels(t)
new <- as_levels(new)
for (f in names(d)) if (is.factor(d[[f]])) new[[f]] <- factor(as.character(new[[f]]), levels(d[[f]]))
years <- transform(d, year = factor(year), year2 = factor(year2))
new_years <- transform(new, year = factor(year, levels(years$year)), year2 = factor(year2, levels(years$year)))

numbers <- function(v) paste0("[", paste(ifelse(is.na(v), "null", sprintf("%.15g", v)), collapse = ", "), "]")
texts <- function(v) paste0("[", paste(sprintf("\"%s\"", quote_json(v)), collapse = ", "), "]")
quote_json <- function(v) gsub("\"", "\\\\\"", v)

# `own`: the formula of tessera-fit if it differs from R's; `args`: the rest of its command line.
case <- function(name, formula, args = "", family = gaussian(), data = d, newdata = new, weights = NULL, knots = NULL,
                 own = NULL, log = "") {
  text <- if (is.null(own)) gsub(" +", " ", paste(deparse(formula, width.cutoff = 500), collapse = "")) else own
  smooth <- length(interpret.gam(formula)$smooth.spec) > 0
  data$prior_weights <- if (is.null(weights)) 1 else data[[weights]]
  fit <- suppressWarnings(if (smooth) {
    bam(formula, family, data, weights = prior_weights, method = "fREML", chunk.size = 1e6, knots = knots,
        control = gam.control(epsilon = 1e-12))
  } else {
    glm(formula, family, data, weights = prior_weights, control = list(epsilon = 1e-14))
  })
  estimates <- if (smooth) summary(fit)$p.coeff else coef(fit)
  estimates <- estimates[!is.na(estimates)]
  deviance <- deviance(fit)
  sprintf(paste0("  {\"name\": \"%s\", \"formula\": \"%s\", \"args\": \"%s\", \"log\": \"%s\", \"smooth\": %s, \"n\": %d,\n",
                 "   \"names\": %s,\n   \"coefficients\": %s,\n   \"deviance\": %.15g, \"edf\": %.8g,\n   \"predictions\": %s}"),
          name, quote_json(text), quote_json(args), log, tolower(smooth), nobs(fit), texts(names(estimates)),
          numbers(estimates), deviance, if (smooth) sum(fit$edf) else fit$rank,
          numbers(as.vector(predict(fit, newdata, type = "response"))))
}
yes_no <- "--family binomial"
logit <- binomial()
cases <- c(
  # Each kind of column as a term of its own.
  case("Number", y ~ x),
  case("Integer", y ~ year),
  case("Text", y ~ g, log = "g: factor of 3 levels, the first 'a'"),
  case("TrueFalse", y ~ flag, log = "flag: factor of 2 levels, the first 'FALSE'"),
  case("ShortTrueFalse", y ~ short),
  case("QuotedNumbers", y ~ zip, log = "zip: factor of 3 levels, the first '9'"),
  case("QuotedCodes", y ~ code),
  case("FactorOption", y ~ year, "--factor year", data = years, newdata = new_years,
       log = "year: factor of 4 levels, the first '8'"),
  case("FactorCall", y ~ factor(year), log = "factor(year): factor of 4 levels, the first '8'"),
  case("AsFactorCall", y ~ as.factor(year)),
  case("FactorCallOfText", y ~ factor(g)),
  case("FactorOptionOfText", y ~ g, "--factor g"),
  case("FactorCallBesideTheNumber", y ~ factor(g) + year + z),
  case("FactorOfManySpellings", y ~ messy, "--factor messy", log = "messy: factor of 3 levels, the first '1'"),
  case("FactorWithGaps", y ~ year2, "--factor year2", data = years, newdata = new_years,
       log = "year2: factor of 4 levels, the first '8', 2 missing"),
  case("NumericOption", y ~ qx, "--numeric qx"),
  case("TwoTexts", y ~ g + size),
  # In interactions, and without an intercept.
  case("Crossed", y ~ g * x),
  case("CrossedFactors", y ~ g * flag),
  case("Slopes", y ~ x:g),
  case("CrossedWithTrueFalse", y ~ flag:x + z),
  case("CrossedWithFactorCall", y ~ factor(year) * x),
  case("CrossedWithQuotedNumbers", y ~ zip * x),
  case("Nested", y ~ g / x),
  case("NoIntercept", y ~ g - 1),
  case("NoInterceptFactorCall", y ~ 0 + factor(year)),
  # Arithmetic.
  case("Power", y ~ x + I(x^2)),
  case("LogResponse", log(cost) ~ x),
  case("LogTerm", y ~ log(e) + sqrt(x)),
  # Expressions, and their equivalents on the command line.
  case("Comparison", y ~ (month > 6) + I(g == "a") * x),
  case("Cut", y ~ cut(x, c(0, 0.3, 0.6, 1), right = FALSE) + ifelse(flag, z, 0)),
  case("Polynomial", y ~ poly(x, 3) + scale(z)),
  case("Relevelled", y ~ relevel(factor(size), ref = "m")),
  case("Ordered", y ~ size * x, "--ordered size=s,m,l", data = transform(d, size = factor(size, c("s", "m", "l"), ordered = TRUE)),
       newdata = transform(new, size = factor(size, c("s", "m", "l"), ordered = TRUE))),
  case("OrderedYears", y ~ year, "--ordered year", data = transform(years, year = factor(year, ordered = TRUE)),
       newdata = transform(new_years, year = factor(year, levels(years$year), ordered = TRUE)),
       log = "year: factor of 4 levels, the first '8'"),
  case("Levels", y ~ size * x, "--levels size=m,l,s", data = transform(d, size = factor(size, c("m", "l", "s")))),
  case("LevelsOfSome", y ~ code + x, "--levels code=10,01", data = transform(d, code = factor(code, c("10", "01"))),
       newdata = transform(new, code = factor(code, c("10", "01")))),
  case("LevelsOfNumbers", y ~ year + x, "--levels year=10,8,11,9",
       data = transform(d, year = factor(year, c(10, 8, 11, 9))), newdata = transform(new, year = factor(year)),
       log = "year: factor of 4 levels, the first '10'"),
  case("LevelsOfFactorCall", y ~ factor(year) + x, "--levels year=10,8,11,9",
       data = transform(d, year = factor(year, c(10, 8, 11, 9))), newdata = transform(new, year = factor(year))),
  case("Subset", y ~ x + g, "--subset 'x > 0.2 & !flag'", data = subset(d, x > 0.2 & !flag)),
  case("WeightsExpression", y ~ x, "--weights 'log(w + 1)'", data = transform(d, lw = log(w + 1)), weights = "lw"),
  # Responses.
  case("QuotedResponse", qy ~ x),
  case("IntegerResponse", count ~ x),
  case("Poisson", count ~ x + g, "--family poisson", poisson()),
  case("PoissonCall", count ~ x + g, "--family 'poisson()'", poisson()),
  case("PoissonOffset", count ~ x + offset(log(e)), "--family Poisson", poisson()),
  case("IntegerOffset", y ~ x + offset(month)),
  case("Gamma", cost ~ x + g, "--family gamma", Gamma("log")),
  case("GammaCall", cost ~ x + g, "--family 'Gamma(link = \"log\")'", Gamma("log")),
  case("GammaShortCall", cost ~ x + flag, "--family 'Gamma(log)'", Gamma("log")),
  case("GaussianCall", y ~ x, "--family 'gaussian(identity)'"),
  case("GaussianName", y ~ x, "--family GAUSSIAN"),
  case("ZeroAndOne", s ~ x + g, yes_no, logit),
  case("BinomialCall", s ~ x + g, "--family 'binomial(logit)'", logit),
  case("YesAndNo", answer ~ x + g, yes_no, logit, log = "response answer: 'no' is failure, 'yes' is success"),
  case("TrueFalseResponse", won ~ x + g, yes_no, logit, log = "response won: 'FALSE' is failure, 'TRUE' is success"),
  case("ShortTrueFalseResponse", tf ~ x, yes_no, logit, log = "response tf: 'FALSE' is failure, 'TRUE' is success"),
  case("QuotedZeroAndOne", digit ~ x, yes_no, logit, log = "response digit: '0' is failure, '1' is success"),
  case("FactorOptionResponse", factor(coded) ~ x, paste(yes_no, "--factor coded"), logit, own = "coded ~ x",
       log = "response coded: '1' is failure, '2' is success"),
  case("FactorCallResponse", factor(coded) ~ x, yes_no, logit),
  case("NineAndTen", factor(nine) ~ x, paste(yes_no, "--factor nine"), logit, own = "nine ~ x",
       log = "response nine: '9' is failure, '10' is success"),
  case("FirstLevelIsFailure", upside ~ x, yes_no, logit, log = "response upside: 'alive' is failure, 'yes' is success"),
  case("ResponseWithGaps", gaps ~ x2, yes_no, logit, data = transform(d, gaps = replace(gaps, gaps == "maybe", NA)),
       log = "response gaps: 'no' is failure, 'yes' is success"),
  case("WeightedAnswers", answer ~ x, paste(yes_no, "--weights w"), logit, weights = "w"),
  case("SharesOfTrials", share ~ x + g, paste(yes_no, "--weights trials"), logit, weights = "trials"),
  case("Weights", y ~ x, "--weights w", weights = "w"),
  case("QuotedWeights", y ~ x, "--weights qw", weights = "qw"),
  # Smooths.
  case("Smooth", y ~ s(x, bs = "cr", k = 8)),
  case("SmoothBesideFactor", y ~ g + s(x, bs = "ps", k = 8)),
  case("SmoothOfIntegers", y ~ s(month, bs = "cc", k = 6), "--knots month=0.5,12.5", knots = list(month = c(0.5, 12.5))),
  case("SmoothOfQuotedNumbers", y ~ s(qx, bs = "cr", k = 8)),
  case("SmoothOfLog", y ~ s(log(e), bs = "cr", k = 6)),
  case("SmoothByText", y ~ g + s(x, by = g, bs = "cr", k = 5)),
  case("SmoothByTrueFalse", y ~ flag + s(x, by = flag, bs = "cr", k = 5),
       data = transform(d, flag = factor(flag)), newdata = transform(new, flag = factor(flag))),
  case("SmoothByFactorCall", y ~ factor(year) + s(x, by = factor(year), bs = "cr", k = 4)),
  case("SmoothByFactorOption", y ~ year + s(x, by = year, bs = "cr", k = 4), "--factor year", data = years,
       newdata = new_years),
  case("SmoothByInteger", y ~ s(x, by = month, bs = "cr", k = 5)),
  case("Surface", y ~ te(x, z, k = 4)),
  case("RandomText", y ~ x + s(g, bs = "re")),
  case("RandomQuotedNumbers", y ~ x + s(zip, bs = "re")),
  case("RandomFactorOption", y ~ x + s(year, bs = "re"), "--factor year", data = years, newdata = new_years),
  case("RandomFactorCall", y ~ x + s(year, bs = "re"), data = years, newdata = new_years,
       own = "y ~ x + s(factor(year), bs = \"re\")"),
  case("RandomSlope", y ~ x + s(g, x, bs = "re")),
  case("SmoothYesAndNo", answer ~ g + s(x, bs = "cr", k = 6), yes_no, logit),
  case("SmoothTrueFalse", won ~ s(x, bs = "ps", k = 6), yes_no, logit),
  case("SmoothPoisson", count ~ s(x, bs = "cr", k = 6) + offset(log(e)), "--family poisson", poisson()),
  case("SmoothGamma", cost ~ s(x, bs = "cr", k = 6), "--family gamma", Gamma("log")))
writeLines(c("[", paste(cases, collapse = ",\n"), "]"), "cases.json")
