# SPDX-License-Identifier: Apache-2.0
# mgcv's fits of the i.., l.., e.., f.., s.., t.., r.. and a.. cases to the table of make_mixed.R; needs R with mgcv and
# jsonlite. An e.. case also has mgcv's predictions for the rows of new.csv.gz, and gam's parametric coefficients.
# Run in tests/data/reference/mixed. R 4.2.2, mgcv 1.8-41.
suppressMessages(library(mgcv)); library(jsonlite); library(splines)
source("../../basis/own_bases.R")
d <- read.csv("data.csv.gz", colClasses=c(f="factor", g="factor", h="factor"))
ctl <- gam.control(epsilon=1e-12, maxit=400)
# `named`: the formula for R, if a basis is the project's own.
# bam's null deviance has no offset.
null_deviance <- function(b) if (all(b$offset == 0)) b$null.deviance else
  glm(b$y ~ offset(b$offset), family=b$family, weights=b$prior.weights, start=b$family$linkfun(mean(b$y)) - mean(b$offset), epsilon=1e-15)$deviance
save_case <- function(name, formula, family=gaussian(), called=family$family, weights=NULL, new=NULL, offset=NULL, subset=NULL, ordered=NULL,
                      named=formula, select=FALSE, gamma=1, sp=NULL, min.sp=NULL, knots=NULL, tests=FALSE, paraPen=NULL) {
  folder <- file.path("..", name)
  dir.create(folder, showWarnings=FALSE)
  for (v in names(ordered)) {
    d[[v]] <- factor(d[[v]], ordered[[v]], ordered=TRUE)
    if (!is.null(new)) new[[v]] <- factor(new[[v]], ordered[[v]], ordered=TRUE)
  }
  value <- function(text, otherwise) if (is.null(text)) otherwise else eval(parse(text=text), d)
  d$.w <- value(weights, rep(1, nrow(d)))
  d$.o <- value(offset, rep(0, nrow(d)))
  d$.s <- value(subset, rep(TRUE, nrow(d)))
  # bam ignores min.sp, and fails with two penalties of a parametric term beside those of another.
  by_gam <- !is.null(min.sp) || length(paraPen) > 1
  b <- if (!by_gam) bam(as.formula(named), family=family, data=d, method="fREML", discrete=FALSE, weights=.w, offset=.o, subset=.s, control=ctl,
           select=select, gamma=gamma, sp=sp, knots=knots, chunk.size=1e6, paraPen=Map(function(one) one$S, paraPen))
  if (by_gam) {
    b <- gam(as.formula(named), family=family, data=d, method="REML", weights=.w, offset=.o, subset=.s,
             control=gam.control(epsilon=1e-12, maxit=400, newton=list(conv.tol=1e-11)), select=select, gamma=gamma,
             sp=sp, min.sp=min.sp, knots=knots, paraPen=Map(function(one) c(one$S, list(rank=one$rank, sp=one$sp)), paraPen))
    b$full.sp <- (if (is.null(b$full.sp)) b$sp else b$full.sp) + (if (is.null(min.sp)) 0 else min.sp)
  }
  # bam's scale is that of REML; gam's, with a given smoothing parameter, only in reml.scale.
  scale <- if (length(paraPen) > 1) b$reml.scale else b$sig2
  p <- predict(b, d, se.fit=TRUE)
  s <- summary(b)
  # With gam's constraints, if its REML is that of bam.
  g <- if (by_gam || !is.null(paraPen)) b
  else if (b$family$family == "gaussian" && b$family$link == "identity" && !select)
    gam(as.formula(named), data=d, method="REML", weights=.w, offset=.o, subset=.s, control=ctl, gamma=gamma, sp=sp, knots=knots)
  a <- if (!is.null(g)) g$coefficients[[1]]
  q <- if (!is.null(new)) predict(b, new, se.fit=TRUE)
  parametric <- if (!is.null(new)) as.list(g$coefficients[seq_len(sum(g$nsdf))])
  con <- gzfile(file.path(folder, "fitted.csv.gz"), "w")
  writeLines("fitted,linpred", con)
  writeLines(paste(format(b$family$linkinv(as.numeric(p$fit)), digits=11), format(as.numeric(p$fit), digits=11), sep=","), con)
  close(con)
  write_json(list(case=name, note="simulated; see README.md", data_file="../mixed/data.csv.gz", n=nrow(d), formula=formula,
                  family=called, weights=weights, offset=offset, subset=subset, ordered=ordered, supplied_knots=knots,
                  select=select, gamma=gamma, sp=sp, min_sp=min.sp, para_pen=Map(function(one) lapply(Filter(length, one), I), paraPen),
                  fits=list(bam_fREML_tight=Filter(Negate(is.null), list(kind="bam", control="tight", log_sp=I(log(as.numeric(b$full.sp))),
                    tests=if (tests) unname(s$s.table),
                    edf_total=sum(b$edf), deviance=b$deviance, null_deviance=null_deviance(b), scale=scale,
                    r_squared_adjusted=s$r.sq, aic=b$aic, gam_intercept=a, gam_parametric=parametric,
                    new_link=if (!is.null(q)) as.numeric(q$fit), new_se=if (!is.null(q)) as.numeric(q$se.fit), se_link50=as.numeric(p$se.fit)[1:50])))),
             file.path(folder, "ref.json"), digits=NA, auto_unbox=TRUE, null="null", na="null", pretty=TRUE)
  cat(name, "edf", sum(b$edf), "iterations", b$iter, "\n")
}
save_case("i01_id", 'y ~ s(x, id=1) + s(z, id=1) + s(u, bs="cr")')
save_case("i02_id_by_factor", 'y ~ f + s(x, by=f, bs="cr", k=8, id="a") + s(u, bs="ps", k=9)')
save_case("i03_ids_poisson", 'pois ~ s(x, bs="cr", k=9, id=1) + s(u, id=1) + s(z, bs="ps", k=12, id=2) + s(e, id=2)', poisson())
save_case("i04_id_te", 'y ~ te(x, z, k=c(5,4), id=1) + te(u, e, id=1)', weights="wt")
save_case("i05_id_by_numbers", 'y ~ s(x, by=z, bs="ps", k=10, id=1) + s(u, by=e, id=1)')
save_case("l01_probit_weights", 'prop ~ f + s(x, bs="ps", k=10) + s(h, bs="re")', binomial(probit), "binomial(probit)", weights="trials")
save_case("l02_cloglog", 'bin ~ f + s(x, bs="cr", k=8)', binomial(cloglog), 'binomial(link = "cloglog")')
save_case("l03_cauchit", 'bin ~ f + s(x, bs="cr", k=8)', binomial(cauchit), "binomial(cauchit)")
save_case("l04_gamma_inverse", 'gam ~ f + s(x, bs="ps", k=10)', Gamma(), "Gamma(inverse)", weights="wt")
save_case("l05_gamma_identity", 'gam ~ f + s(x, bs="ps", k=10)', Gamma(identity), "gamma(identity)")
save_case("l06_poisson_sqrt", 'pois ~ e + s(x, bs="cr", k=8) + s(h, bs="re")', poisson(sqrt), "poisson(sqrt)")
save_case("l07_poisson_identity", 'pois ~ s(x, bs="cr", k=8)', poisson(identity), "poisson(identity)")
save_case("l08_gaussian_log_offset", 'gam ~ f + offset(log(e)) + s(x, bs="ps", k=10)', gaussian(log), "gaussian(log)", weights="wt")
save_case("l09_gaussian_inverse", 'gam ~ f + s(x, bs="ps", k=10)', gaussian(inverse), "gaussian(inverse)")
save_case("l10_inverse_gaussian", 'gam ~ f + s(x, bs="ps", k=10)', inverse.gaussian(), "inverse.gaussian", weights="wt")
save_case("l11_inverse_gaussian_log", 'gam ~ f + s(x, bs="ps", k=10) + s(h, bs="re")', inverse.gaussian(log), 'inverse.gaussian(link = "log")', weights="wt")
save_case("l12_quasipoisson", 'pois ~ f + offset(log(e)) + s(x, bs="cr", k=12) + s(h, bs="re")', quasipoisson(), "quasipoisson")
save_case("l13_quasibinomial", 'prop ~ s(x, bs="ps", k=10) + f + s(z, by=f, bs="cr", k=8)', quasibinomial(), "quasibinomial()", weights="trials")
save_case("l14_quasipoisson_sqrt", 'pois ~ s(x, bs="cr", k=8)', quasipoisson(sqrt), "quasipoisson(sqrt)", weights="wt")
save_case("l15_binomial_log", 'prop ~ f + s(x, bs="cr", k=8)', binomial(log), "binomial(log)", weights="trials")
set.seed(29)
rows <- 40
new <- data.frame(y=0, x=round(runif(rows, -.1, 1.1), 3), z=round(rnorm(rows), 3), u=round(runif(rows)*7, 2),
                  f=sample(c("a","b","c"), rows, TRUE), g=sample(c("10","2","z9"), rows, TRUE), h=sample(sprintf("h%02d",1:25), rows, TRUE),
                  e=round(runif(rows)*5+.5, 2), wt=1, trials=7)
new$x[5] <- NA; new$e[9] <- NA
con <- gzfile("new.csv.gz", "w")
write.csv(new, con, row.names=FALSE, quote=5:7)
close(con)
for (v in c("f", "g", "h")) new[[v]] <- factor(new[[v]], levels(d[[v]]))
save_case("e01_in_smooths", 'y ~ g + s(log(e), bs="cr", k=5+2) + s(I(abs(x)^.5), by=as.numeric(f == "a"), bs="ps") + te(sqrt(u), z, k=c(rep(4, 2)))', new=new)
save_case("e02_terms", 'y ~ ifelse(z > 0, z, 0) + factor(round(u)) + I(x > 0.5)*f + cut(e, c(0, 1.5, 3, 6)) + log10(e) + s(x, bs="cr", k=6)', new=new)
save_case("e03_no_intercept", 'y ~ f + g:x + I(x < 0.3 & z > 0) + sqrt(e) + sin(u) + s(z, bs="cr", k=7) - 1', new=new)
save_case("e04_ordered", 'y ~ g*f + s(x, bs="cr", k=6) + s(z, by=f, bs="ps", k=8)', new=new, ordered=list(f=c("b", "a", "c")))
save_case("e05_ordered_poisson", 'pois ~ f:g + ordered(round(u/2)) + s(x, by=f, bs="cr", k=6)', poisson(), new=new, ordered=list(f=c("c", "a", "b")))
save_case("e06_of_all_rows", 'y ~ poly(e, 3) + scale(z):f + splines::ns(u, df=4) + splines::bs(x, df=5, degree=2) + relevel(g, ref="z9") + s(h, bs="re")',
          new=new, subset="x > 0.05 & f != 'c' | u < 5")
save_case("e07_offset_weights_subset", 'pois ~ g + s(x, bs="cr", k=6) + offset(log(e))', poisson(), new=new,
          weights="ifelse(f == 'a', 2, 0.5 + wt)", offset="log(wt + 1)/2", subset="z < 1.5")
turned <- function(formula) gsub('bs="fs"', 'bs="turned"', formula)
save_turned <- function(name, formula, ...) save_case(name, formula, named=turned(formula), ...)
save_case("f01_fs_cr", 'y ~ f + s(x, h, bs="fs", xt="cr", k=5)', new=new, tests=TRUE)
save_turned("f02_fs_tp", 'y ~ f + s(h, x, bs="fs", k=6)', weights="wt", tests=TRUE)
save_case("f03_fs_poisson", 'pois ~ offset(log(e)) + s(x, h, bs="fs", m=1) + s(u, f, bs="fs", xt=list(bs="cc"), k=6)', poisson(), tests=TRUE)
save_case("f04_fs_by_number", 'pois ~ f + s(x, h, by=e, bs="fs", xt="ps", k=5)', poisson(), tests=TRUE)
save_turned("f05_fs_of_two", 'y ~ f + s(x, u, g, bs="fs", k=14)', tests=TRUE)
save_case("f06_fs_by_factor", 'y ~ f + s(x, h, by=f, bs="fs", xt="bs", k=6)', tests=TRUE)
save_case("t01_t2", 'y ~ f + t2(x, u, k=5, sp=c(100,-1,-1))', new=new, tests=TRUE)
save_case("t02_t2_full", 'y ~ t2(x, u, bs=c("tp","cc"), k=c(6,5), full=TRUE)', weights="wt", tests=TRUE)
save_case("t03_t2_random", 'pois ~ t2(u, h, bs=c("tp","re"), k=5, full=TRUE)', poisson(), tests=TRUE)
save_case("t04_t2_of_two", 'pois ~ f + t2(x, u, z, by=e, d=c(2,1), bs=c("ds","cr"), k=c(12,4), m=list(c(1,.5),0))', poisson(), tests=TRUE)
save_case("t05_t2_orders", 'y ~ s(x, k=6) + s(u, k=6) + t2(x, u, bs="tp", ord=c(0,2))', tests=TRUE)
save_case("t06_t2_select", 'y ~ s(x, k=8) + t2(x, z, bs="ps") + t2(u, e, k=4, bs="tp")', select=TRUE)
save_case("t07_t2_by_factor", 'y ~ f + t2(x, z, by=f, k=4) + t2(wt, h, bs=c("re","re"))', tests=TRUE)
save_case("t08_t2_no_null_space", 'y ~ f + t2(x, u, ord=1:2)', weights="wt", tests=TRUE)
save_case("s01_sz_cr", 'y ~ s(x, bs="cr", k=8) + s(f, x, bs="sz", xt="cr", k=6)', new=new, tests=TRUE)
save_case("s02_sz_tp", 'y ~ s(x) + s(x, g, bs="sz", k=7)', weights="wt", tests=TRUE)
save_case("s03_sz_poisson", 'pois ~ offset(log(e)) + s(x) + s(f, g, x, bs="sz", id=1, xt=list(bs="ps"), k=6)', poisson(), new=new, tests=TRUE)
save_case("s04_sz_of_two_factors", 'y ~ s(x, bs="cr") + s(f, x, bs="sz", m=1) + s(g, x, bs="sz", xt="cr", k=5) + s(f, g, x, bs="sz", xt="cr", k=5)', tests=TRUE)
save_case("s05_sz_of_two_numbers", 'y ~ s(x, u, k=20) + s(u, g, x, bs="sz", k=12)', tests=TRUE)
save_case("s06_sz_by_number", 'pois ~ s(x, bs="cr") + s(x, f, by=e, bs="sz", xt="ps", k=6)', poisson(), tests=TRUE)
save_case("s07_sz_by_factor", 'y ~ g + s(x, f, by=g, bs="sz", xt="ps", k=5, id=1, sp=2)', tests=TRUE)
save_case("s08_sz_select", 'y ~ s(x, k=8) + s(f, x, bs="sz", k=6) + s(u, g, bs="sz", xt="cc", k=6, sp=c(-1, 2, -1, -1))', select=TRUE)
save_case("s09_sz_of_many_levels", 'gam ~ s(x, k=8) + s(h, x, bs="sz", k=4, id=1)', Gamma(log), "Gamma(log)", tests=TRUE)
save_case("s10_sz_no_null_space", 'y ~ f + s(x) + s(f, x, bs="sz", m=c(2,0), k=6, sp=c(3, 20, 8)) + s(g, u, bs="sz", xt="gp", k=6)', tests=TRUE)
# Arguments of smooths and of the fit.
save_case("a01_select", 'y ~ f + s(x, bs="cr", k=9) + s(z, k=9) + te(u, e, k=4)', select=TRUE)
save_case("a02_select_poisson", 'pois ~ f + s(x, bs="cc", k=8) + s(u, e, k=20) + s(z, by=e, bs="cr", k=6) + s(h, bs="re")', poisson(), select=TRUE)
save_case("a03_fx", 'y ~ s(x, fx=TRUE, k=6) + te(z, u, fx=T, k=c(4,3)) + s(e)', weights="wt", tests=TRUE)
save_case("a04_gamma", 'gam ~ s(x) + s(z, bs="cr")', Gamma(log), "Gamma(log)", weights="wt", gamma=1.4, tests=TRUE)
save_case("a05_sp", 'y ~ s(x, sp=0.6) + s(z, bs="cr", k=8, sp=10) + te(u, e, k=4, sp=c(-1, 2))', weights="wt", tests=TRUE)
save_case("a06_sp_of_all", 'pois ~ s(x) + te(u, e, k=4) + s(z, bs="cr")', poisson(), sp=c(.5, -1, 3, 2))
save_case("a07_given_sp", 'y ~ s(x, id=1, sp=2) + s(u, id=1) + s(z)', sp=c(-1, 3), tests=TRUE)
save_case("a08_point", 'y ~ s(x, pc=0.3, bs="cr") + s(z, by=u, pc=0, k=8) + s(u, e, k=20, pc=c(3, 2))')
save_case("a09_spline_orders", 'y ~ s(x, bs="ps", m=1) + s(z, bs="ps", m=c(0,2), k=12) + s(u, bs="cp", m=c(1,2), k=8) + te(e, wt, bs="ps", m=list(c(1,1), c(0,1)))')
save_case("a10_no_null_space", 'y ~ f + s(x, m=c(2,0), by=f) + s(u, e, m=c(2,0), k=25)')
save_case("a11_points", 'y ~ s(x, k=8) + s(u, e, k=10, bs="ds", m=c(1,.5)) + s(z, bs="ts", k=6)',
          knots=list(x=(0:13)/13, u=c(1,3,5,2,6,7,0,4,2.5,5.5,3.3,1.1), e=c(1,2,3,4,5,3,1.5,2.5,3.5,4.5,.7,2.2), z=c(2.1,-3,-2,0,1,.5,-1,3)))
save_case("a12_select_point", 'y ~ s(x, bs="cr", k=8, pc=0.2) + s(z, bs="cc", k=7) + s(u, bs="ps", k=8, id=1) + s(e, id=1)', select=TRUE, gamma=1.2)
save_case("a13_min_sp", 'y ~ s(x) + te(u, e, k=4) + s(z, bs="cr", sp=2)', weights="wt", min.sp=c(30, 0, .5, 1), tests=TRUE)
save_case("a14_margin_without_penalty", 'y ~ te(x, z, fx=c(TRUE, FALSE), k=c(4, 6)) + ti(u, e, fx=c(FALSE, TRUE), bs=c("ps", "cr"), k=4, m=list(c(1, 2), 0))',
          weights="wt", tests=TRUE)
save_case("a15_sp_0", 'y ~ s(x, sp=0, k=6) + te(u, e, k=4, sp=c(0, 2)) + s(z, bs="cr", k=5)', sp=c(-1, 0, 1, 0), tests=TRUE)
save_case("a16_shared_columns", 'pois ~ f:e + s(x, by=e, k=6) + te(u, e, k=4)', poisson())
# Markov random fields over the 25 levels of h, five rows of five districts; the last row has no boundary with the others
# in `apart`. Adaptive smooths.
neighbours <- function(rows, first=1) {
  at <- seq_len(5*rows) + first - 1
  own <- lapply(at, function(i) c(if (i %% 5 != 1) i - 1, if (i %% 5 != 0) i + 1, i - 5, i + 5))
  names <- function(i) sprintf('"h%02d"', i)
  paste0("h", sprintf("%02d", at), "=c(", vapply(own, function(i) toString(names(i[i %in% at])), ""), ")", collapse=", ")
}
grid <- paste0("list(nb=list(", neighbours(5), "))")
apart <- paste0("list(nb=list(", neighbours(4), ", ", neighbours(1, 21), "))")
save_case("r01_mrf", paste0('y ~ s(h, bs="mrf", xt=', grid, ') + s(x)'), new=new, tests=TRUE)
save_case("r02_mrf_of_two", paste0('pois ~ offset(log(e)) + s(h, bs="mrf", xt=', apart, ') + s(x, k=6)'), poisson(), tests=TRUE)
save_case("r03_mrf_truncated", paste0('y ~ s(h, bs="mrf", k=12, xt=', apart, ') + s(u, bs="cc")'), weights="wt", new=new, tests=TRUE)
save_case("r04_mrf_te", paste0('y ~ te(h, x, bs=c("mrf","cr"), k=c(10,5), xt=list(', grid, ', NULL))'), new=new, tests=TRUE)
save_case("r05_mrf_and_re", paste0('pois ~ s(h, bs="mrf", xt=', grid, ') + s(factor(h), bs="re") + s(x, k=6)'), poisson(),
          named=paste0('pois ~ s(h, bs="mrf", xt=', grid, ') + s(h, bs="re") + s(x, k=6)'), tests=TRUE)
save_case("r06_mrf_by_factor", paste0('y ~ f + s(h, bs="mrf", by=f, k=8, xt=', grid, ')'))
save_case("r07_mrf_select", paste0('y ~ s(x, k=8) + s(h, bs="mrf", xt=', apart, ')'), select=TRUE)
save_case("r08_ad", 'y ~ s(x, bs="ad", k=16, m=3) + s(z, k=6)', tests=TRUE)
save_case("r09_ad_cyclic", 'pois ~ offset(log(e)) + s(u, bs="ad", k=15, m=3, xt=list(bs="cc")) + s(x, bs="ad", k=14, m=2, xt=list(bs="cr"))', poisson())
save_case("r10_ad_by_factor", 'y ~ f + s(x, bs="ad", by=f, k=14, m=3)')
# Penalties of parametric terms.
neighbouring <- function(n) crossprod(diff(diag(n)))
save_case("p01_penalised_terms", 'y ~ h + z + f:u + s(x)', new=new, tests=TRUE,
          paraPen=list(h=list(S=list(diag(24), neighbouring(24)), rank=c(24, 23)), z=list(S=list(diag(1)), sp=300)))
save_case("p02_penalised_poisson", 'pois ~ offset(log(e)) + h + s(x, k=6) + z', poisson(), weights="wt",
          paraPen=list(h=list(S=list(diag(24), neighbouring(24)))))
save_case("p03_penalised_differences", 'y ~ f*z + h + s(x)', new=new, paraPen=list(h=list(S=list(neighbouring(24)))))
