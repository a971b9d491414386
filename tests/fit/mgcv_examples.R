# SPDX-License-Identifier: Apache-2.0
# The fits of mgcv's own examples, for compare_calls.R: ?gam, ?bam, ?te, ?t2, ?factor.smooth, ?random.effects, ?negbin,
# ?Tweedie, ?gp, ?linear.functional.terms and the pages that they lead to; ?smooth.terms has none. Data are from gamSim,
# or similar, with other seeds. A call that differs from another only in the method of estimation is omitted.
example <- function(page, table, ...) eval(substitute(add(page, NA, table, ...)))
one <- function(seed, ...) { set.seed(seed); gamSim(..., verbose=FALSE) }
two <- function(seed, ...) one(seed, 2, ...)$data
# A surface over two variables of unlike range, and over three.
surface <- function(x, z) exp(-8*(x - .3)^2 - 4*(z - .4)^2) + .6*exp(-8*(x - .8)^2 - 4*(z - .7)^2)
plane <- function(n) { d <- data.frame(x=runif(n)/20, z=runif(n)); transform(d, y=surface(20*x, z) + rnorm(n, sd=.2)) }
solid <- function(n) { d <- data.frame(v=runif(n), w=runif(n), u=runif(n)); transform(d, y=20*surface(v, w)*(u - .5)^2 + rnorm(n, sd=.2)) }
curves <- function(n, levels) {
  d <- data.frame(x0=runif(n), x1=runif(n), x2=runif(n), fac=sample(levels, n, TRUE))
  a <- rnorm(levels, 2, .2)
  d$y <- 2*sin(pi*d$x0) + exp(a[d$fac]*d$x1) + 2*sin(6*d$x2) + rnorm(n, sd=2)
  transform(d, fac=factor(fac))
}

example("?gam", one(2, 1, n=400, scale=2), "gam(y~s(x0)+s(x1)+s(x2)+s(x3),data=dat)")
example("?gam", one(2, 1, n=400, scale=2), 'gam(y~te(x0,x1,k=7)+s(x2)+s(x3),data=dat,method="REML")')
example("?gam", one(2, 1, n=400, scale=2), 'gam(y~s(x0)+s(x1)+s(x2)+s(x3)+ti(x1,x2,k=6),data=dat,method="REML")')
example("?gam", one(2, 1, n=400, scale=2), 'gam(y~s(x0,x1,k=40)+s(x2)+s(x3),data=dat,method="REML")')
example("?gam", one(2, 1, n=400, scale=2), 'gam(y~s(x0)+s(x1)+s(x2)+s(x3),data=dat,method="REML",select=TRUE)')
example("?gam", one(2, 1, n=400, scale=2), "gam(y~s(x0)+s(x1)+s(x2)+s(x3),sp=c(0.01,-1,-1,-1),data=dat)")
example("?gam", one(2, 1, n=400, scale=2), "gam(y~s(x0,sp=.01)+s(x1)+s(x2)+s(x3),data=dat)")
example("?gam", one(2, 1, n=400, scale=2), 'gam(y~s(x0)+s(x1)+s(x2)+s(x3),min.sp=c(0.001,0.01,0,10),data=dat)')
example("?gam", one(2, 1, n=400, scale=2), 'gam(y~s(x0,k=4,fx=TRUE,bs="tp")+s(x1,k=12)+s(x2,k=15),data=dat)')
example("?gam", one(6, 1, n=2000, dist="poisson", scale=.1),
    'gam(y~s(x0,bs="cr")+s(x1,bs="cr")+s(x2,bs="cr")+s(x3,bs="cr"),family=poisson,data=dat,method="REML")')
example("?gam", one(7, 1, n=400, dist="poisson", scale=.25), 'gam(y~s(x0)+s(x1)+s(x2)+s(x3),family=poisson,data=dat,method="REML")')
example("?gam", one(8, 1, n=400, dist="binary", scale=.33), 'gam(y~s(x0)+s(x1)+s(x2)+s(x3),family=binomial,data=dat,method="REML")')
example("?gam", two(9, n=500, scale=.1), "gam(y~s(x,z),data=data)")
example("?gam", two(10, n=5000, scale=.5), "gam(y~s(x,z,k=40),data=data,knots=list(x=data$x[1:200],z=data$z[1:200]))")
example("?gam", two(10, n=5000, scale=.5), "gam(y~s(x,z,k=64),data=data,knots=list(x=rep((1:8-0.5)/8,8),z=rep((1:8-0.5)/8,rep(8,8))))")
example("?gam", two(10, n=5000, scale=.5), "gam(y~s(x,z,k=40,xt=list(max.knots=500,seed=2)),data=data)")
example("?bam", one(3, 1, n=25000, scale=20), "bam(y ~ s(x0,bs=bs)+s(x1,bs=bs)+s(x2,bs=bs,k=k)+\n           s(x3,bs=bs),data=dat)",
    constants=list(bs="cr", k=12))
example("?bam", one(3, 1, n=21000, dist="poisson", scale=.1), "bam(y ~ s(x0,bs=bs)+s(x1,bs=bs)+s(x2,bs=bs,k=k),data=dat,family=poisson())",
    constants=list(bs="cr", k=15))
example("?bam", one(3, 1, n=21000, dist="poisson", scale=.1),
    "bam(y ~ s(x0,bs=bs,k=k)+s(x1,bs=bs,k=k)+s(x2,bs=bs,k=k)+\n            s(x3,bs=bs,k=k),data=dat,family=poisson(),discrete=TRUE)", constants=list(bs="cr", k=15))
example("?bam.update", { d <- one(8, 1, n=5000, scale=5); d$y <- d$f + 3*as.numeric(arima.sim(list(ar=.7), 5000)); d[c(50, 13, 3000, 3005, 3100), ] <- NA; d },
    "bam(y ~ s(x0,bs=bs,k=k)+s(x1,bs=bs,k=k)+s(x2,bs=bs,k=k)+\n           s(x3,bs=bs,k=k),data=dat0,rho=0.7)", constants=list(bs="ps", k=20))
example("?te", { set.seed(1); plane(500) }, "gam(y~s(x,z))")
example("?te", { set.seed(1); plane(500) }, "gam(y~te(x,z))")
example("?te", { set.seed(1); plane(500) }, "gam(y~ ti(x) + ti(z) + ti(x,z))")
example("?te", { set.seed(1); plane(500) }, "gam(y~ ti(x) + ti(x,z,mc=c(0,1)))")
example("?te", { set.seed(2); solid(500) }, 'gam(y~te(v,w,u,k=c(30,5),d=c(2,1),bs=c("ds","cr"),m=m))', constants=list(m=quote(list(c(1,.5),rep(0,0)))))
example("?t2", { set.seed(1); plane(500) }, "gam(y~t2(x,z))")
example("?t2", { set.seed(1); plane(500) }, 'gam(y~t2(x,z,bs=c("tp","tp")))')
example("?t2", { set.seed(2); solid(500) }, 'gam(y~t2(v,w,u,k=c(30,5),d=c(2,1),bs=c("ds","cr"),m=m))', constants=list(m=list(c(1,.5), 0)))
example("?t2", { set.seed(2); solid(500) }, 'gam(y~t2(v,w,u,k=c(25,5),d=c(2,1),bs=c("tp","cr"),full=TRUE),method="ML")')
example("?factor.smooth", { set.seed(3); curves(500, 25) }, 'bam(y~s(x0)+ s(x1,fac,bs="fs",k=5)+s(x2,k=20),discrete=TRUE)')
example("?factor.smooth", { set.seed(3); curves(500, 25) }, 'bam(y~s(x0)+ s(x1) + s(x1,fac,bs="sz",k=5)+s(x2,k=20),discrete=TRUE)')
example("?factor.smooth", { set.seed(3); curves(500, 25) }, 'gam(y~s(x0)+ t2(x1,fac,bs=c("tp","re"),k=5,full=TRUE)+\n        s(x2,k=20),method="ML")')
example("?factor.smooth", one(4, 4), 'gam(y ~ s(x2)+s(fac,x2,bs="sz")+s(x0),data=dat,method="REML")')
example("?factor.smooth", { set.seed(5); d <- data.frame(x=runif(600), f1=factor(sample(letters[1:3], 600, TRUE)), f2=factor(sample(c("foo", "bar"), 600, TRUE)))
                                 transform(d, y=2*sin(6*x) + exp(as.numeric(f1)*x/2) + 10*as.numeric(f2)*x*(1 - x) + rnorm(600)) },
    'gam(y ~ s(x)+s(f1,x,bs="sz")+s(f2,x,bs="sz")+s(f1,f2,x,bs="sz",id=1),data=dat,method="REML")')
example("?random.effects", as.data.frame(nlme::Rail), 'gam(travel~s(Rail,bs="re"),data=Rail,method="REML")')
example("?random.effects", { d <- one(6, 1, n=400, scale=2); fac <- sample(1:20, 400, TRUE); transform(d, y=y + rnorm(20, sd=.5)[fac], fac=factor(fac)) },
    'gam(y ~ s(fac,bs="re")+s(x0)+s(x1)+s(x2)+s(x3),data=dat,method="ML")')
example("?random.effects", { set.seed(4); r <- sample(1:50, 400, TRUE); data.frame(y=2 + rnorm(50, sd=2)[r] + rnorm(400), r=factor(r)) },
    'gam(y ~ s(r,bs="re"),method="REML")')
example("?random.effects", { set.seed(4); r <- sample(1:50, 400, TRUE); data.frame(y=2 + rnorm(50, sd=2)[r] + rnorm(400), r=factor(r)) },
    'gam(y ~ s(r,bs="re",xt=list(S=S,rank=c(nb/2,nb/2))),method="REML")', refused="xt: S")
example("?negbin", { d <- one(3, 1, n=400); d$y <- rnbinom(400, size=3, mu=exp(d$f/5)); d }, "gam(y~s(x0)+s(x1)+s(x2)+s(x3),family=negbin(3),data=dat)")
example("?negbin", { d <- one(3, 1, n=400); d$y <- rnbinom(400, size=3, mu=exp(d$f/5)); d }, "gam(y~s(x0)+s(x1)+s(x2)+s(x3),family=nb(),data=dat)")
example("?negbin", { d <- one(3, 1, n=400); d$y <- rnbinom(400, size=3, mu=(d$f - min(d$f) + 5)^2/10); d }, 'gam(y~s(x0)+s(x1)+s(x2)+s(x3),family=nb(link="sqrt"),data=dat,method="REML")')
tweedie <- function() { d <- one(3, 1, n=400, dist="poisson", scale=.2); d$y <- rTweedie(exp(d$f), p=1.3, phi=.5); d }
example("?Tweedie", tweedie(), "gam(y~s(x0)+s(x1)+s(x2)+s(x3),family=Tweedie(1.25,power(.1)),data=dat)")
example("?Tweedie", tweedie(), 'gam(y~s(x0)+s(x1)+s(x2)+s(x3),family=tw(),data=dat,method="REML")')
example("?gp", two(11, n=200, scale=.05), 'gam(y~s(x,z,k=50),data=data)')
example("?gp", two(11, n=200, scale=.05), 'gam(y~s(x,z,bs="gp",k=50),data=data)')
example("?gp", two(11, n=200, scale=.05), 'gam(y~s(x,z,bs="gp",k=50,m=c(1,.5)),data=data)')
example("?gp", two(11, n=200, scale=.05), 'gam(y~s(x,z,bs="gp",k=50,m=c(-1,.5)),data=data)')
matrices <- function() { set.seed(7); d <- data.frame(y=rnorm(200)); d$X <- matrix(runif(400), 200); d$L <- matrix(1, 200, 2); d }
example("?linear.functional.terms", matrices(), "gam(y~s(X))", refused="X")
example("?linear.functional.terms", matrices(), 'gam(y~s(X,by=L,k=20))', refused="X")
example("gamSim(3)", one(12, 3, n=400), "gam(y~s(x2,by=x1),data=dat)")
example("gamSim(4)", one(13, 4, n=400), "gam(y~fac+s(x2,by=fac)+s(x0),data=dat)")
example("gamSim(5)", one(14, 5, n=200), "gam(y~x0+s(x1)+s(x2)+s(x3),data=dat)")
example("gamSim(6)", one(15, 6, n=400, scale=.2, dist="poisson"), 'gam(y~s(x0)+s(x1)+s(x2)+s(x3)+s(fac,bs="re"),family=poisson,data=dat)')
example("gamSim(7)", one(16, 7, n=400), "gam(y~s(x0)+s(x1)+s(x2)+s(x3),data=dat)")

not_yet(38, 42, 48, 49)
