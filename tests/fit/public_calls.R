# SPDX-License-Identifier: Apache-2.0
# 80 calls of bam() and gam() in public analyses, in the order in which a search of repositories and articles found
# them: one per source, the first that was written out in full. They are not selected by what can be fitted.
# compare_calls.R explains the functions below; data are synthetic. `constants` are variables of the R session that a
# call uses; their values are substituted for the program, as a shell does. `refused` is a part of the message with
# which the program refuses a call, and `differs` the reason why an answer differs from mgcv's. A seed divides them into
# the development set and the second set.
# the program refuses a call, and `differs` one whose answer is another than mgcv's, with the reason. A seed divides them into the development set and the second one.
add("wearables", 2000, list(t=grid(0, 1, 51), id=levels_of(40), phi1=1.4142*sin(2*pi*t), phi2=1.4142*cos(2*pi*t),
                            phi3=1.4142*sin(4*pi*t), phi4=1.4142*cos(4*pi*t), Y=binary()),
r"(bam(Y ~ s(t, bs="cc", k=10)+
                     s(id, by=phi1, bs="re")+
                     s(id, by=phi2, bs="re")+
                     s(id, by=phi3, bs="re")+
                     s(id, by=phi4, bs="re"),
       family = binomial, data=train_df, method = "fREML", discrete = TRUE))")
add("epidemiology", 2000, list(diff_days=whole(-60, 60), NDVIs=uniform(0, 9000), entropy=uniform(0, 4), dissimilarity=uniform(0, 30),
                               contrasts=uniform(0, 300), Longitude=uniform(-10, 10), Latitude=uniform(40, 50), outbreak=binary()),
r"(bam(outbreak~ te(diff_days,((NDVIs))) + te(diff_days,((entropy))) +
             te(diff_days,((dissimilarity))) + te(diff_days,((contrasts))) +
             te(Longitude,Latitude), family=binomial(),select = TRUE,discrete=TRUE,nthreads=4,data=dat9))")
add("sports", 2500, list(OF_ground_dist=uniform(0, 60), time_left_ground=uniform(0, 5), OF_8ft_dist=uniform(0, 60), time_left_8ft=uniform(0, 5),
                         OF_ground_angle=uniform(0, 180), OF_8ft_angle=uniform(0, 180), OF_ground_velo=uniform(0, 30), OF_8ft_velo=uniform(0, 30),
                         OF=levels_of(3), wall_8ft_dist=uniform(0, 100), player_speed=uniform(20, 30), player_caught=binary()),
r"(bam(player_caught ~ te(OF_ground_dist, time_left_ground, k = 5) + te(OF_8ft_dist, time_left_8ft, k = 4) + te(OF_ground_angle, OF_8ft_angle, k = 3) +
                               te(OF_ground_velo, OF_8ft_velo, k = 3) + OF + s(wall_8ft_dist, k = 5) + s(player_speed, k = 3),
               family = binomial, data = train))")
add("linguistics", 800, list(generation_c=whole(-5, 4), alpha_c=grid(-1, 1, 6), bends=counts()),
r"(bam(bends ~ te(generation_c, alpha_c),
	data = blong, family = 'poisson'))")
add("ecology", 3000, list(time_to_set_std=uniform(-11.9, 11.9), date_f=levels_of(8), activity=binary()), constants=list(min_set=-12, max_set=12),
r"(bam(activity ~
        s(time_to_set_std, by=date_f, m=2,  bs="cc", k=50)+
        s(date_f, bs="re"),
      method ="fREML",
      family ="binomial",
      discrete = T,
      knots=list(time_to_set_std=c(min_set, max_set)),
      data = df))")
add("ecology", 3000, list(x100=uniform(-5, 5), y100=uniform(-4, 4), Immature_f=levels_of(2), Immature_ord=ordered(Immature_f), species_site_id=levels_of(40),
                          species_winter_year=levels_of(12), species_band_id=levels_of(150), Female=binary()), constants=list(gamm_basis_k=20L),
r"(mgcv::bam(
      Female ~
        Immature_f +
        s(x100, y100, bs = "tp", k = gamm_basis_k) +
        s(
          x100, y100,
          by = Immature_ord,
          bs = "tp",
          k = gamm_basis_k
        ) +
        s(species_site_id, bs = "re") +
        s(species_winter_year, bs = "re") +
        s(species_band_id, bs = "re"),
      family = binomial(link = "logit"),
      method = "fREML",
      discrete = TRUE,
      data = dat
    ))")
add("fisheries", 600, list(Year=whole(1990, 2020), Stream=levels_of(12), Total=positive()), constants=list(k_eff=10, gamma_pen=1),
r"(mgcv::bam(
      log(Total) ~ s(Year, k = k_eff, bs = "cr") + s(Stream, bs = "re"),
      family   = gaussian(),
      data     = dat,
      method   = "fREML",
      discrete = TRUE,
      nthreads = nthreads,
      gamma    = gamma_pen
    ))")
add("epidemiology", 1000, list(year=levels_of(4), month=levels_of(12), season=factor(c("dry", "wet")[1 + (as.integer(month) > 6)]), ppa21=uniform(0, 300),
                               tmaxm21=uniform(25, 38), tminm21=uniform(15, 26), rhm21=uniform(40, 100), elev=uniform(0, 900), mang_rf_5km=uniform(0, 1),
                               water_occ=uniform(0, 100), water_occ_99=uniform(0, 100), count=counts()),
r"(mgcv::gam(
  formula = count ~ year + season + month + s(ppa21, k=5) + s(tmaxm21, k=5) + s(tminm21, k=5) + s(rhm21, k=5) + s(elev, k=5) + s(mang_rf_5km, k=5) + s(water_occ, k=5) + s(water_occ_99, k=5),
  data    = ab_data_pos,
  family  = nb(),
  select  = TRUE,
  method  = "GCV.Cp"
))")
add("neuroscience", 1500, list(Phase=levels_of(2), CageChange=levels_of(4), TimeScaled=grid(-1.7, 1.7, 40), AnimalNum=levels_of(20), Value=gauss()),
    constants=list(animal_smooth_k=4),
r"(mgcv::bam(
    Value ~ Phase + CageChange +
      s(TimeScaled, AnimalNum, bs = "fs", k = animal_smooth_k),
    data = dat,
    discrete = TRUE,
    method = "fREML"
  ))")
add("astronomy", 1500, list(abs_lat_nosetail=uniform(-90, 90), lon_nosetail=uniform(0, 360), yi=gauss()), constants=list(mybasis="sos", GAMK=50),
r"(mgcv::bam(yi ~ s(abs_lat_nosetail, lon_nosetail, bs=mybasis, m= 4, k = GAMK),
                        data=TEMP,
                        family = mgcv::cnorm, discrete= T))", refused="sos")
add("sports", 2500, list(match_type=levels_of(2), innings=levels_of(2), phase=levels_of(3), gender=levels_of(2), over=whole(0, 49), ball=whole(1, 6),
                         wickets_fallen=whole(0, 9), runs_difference=whole(-200, 200), overs_left=uniform(0, 50), venue=levels_of(20), outcome=whole(1, 7)),
r"(mgcv::bam(outcome ~
  match_type +
  innings +
  phase +
  gender +
  s(over, bs = "ts") +
  s(ball, bs = "ts", k = 4) +
  s(wickets_fallen, bs = "ts") +
  s(runs_difference, bs = "ts") +
  s(overs_left, bs = "ts") +
  ti(runs_difference, overs_left, bs = 'ts') +
  ti(wickets_fallen, overs_left, bs = 'ts') +
  s(venue, bs = "re"),
  family = ocat(R = 7),
  data = train_data,
  method = "fREML",
  discrete = TRUE,
  select = TRUE
))")
add("ecology", 1500, list(y=uniform(0, 500), x=uniform(0, 700), year_scaled=grid(-1.5, 1.5, 20), doy=gauss()), constants=list(k_spatial=NULL),
r"(mgcv::gam(
  doy ~ ti(y, x, bs = "cr", d = 2, k = k_spatial) +
    ti(year_scaled, bs = "cr") +
    ti(y, x, year_scaled, d = c(2,1), bs = c("cr", "cr"), k = c(k_spatial, 5)),
  data = gam_df_50,
  method = "REML"
))")
add("games", 500, list(y=uniform(800, 2200), lci=gauss()), "mgcv::gam(lci ~ s(y), data = dat2)")
add("econometrics", 900, list(stat_Fisher_E_J=uniform(0, 60), k=whole(1, 11), stat_E_G=uniform(-6, 0), p_value_Fisher_E_J=gauss()),
r"(mgcv::gam(p_value_Fisher_E_J ~ poly(stat_Fisher_E_J, 6) + ns(k, 6) + ns(stat_E_G*k, 6),
                                  data = data_case_1))")
add("social media", 700, list(timeInt=whole(18262, 19000), date=timeInt, sin12=sin(timeInt/365.25), cos12=cos(timeInt/365.25), sin6=sin(2*timeInt/365.25),
                              cos6=cos(2*timeInt/365.25), n=positive()), constants=list(baselineDateInt=18262),
r"(mgcv::gam(n ~ date +
                       cos12 + sin12 + cos6 + sin6 +
                       s(timeInt, k = 8, pc=baselineDateInt),
                     data=josh_comments_ts, family=Gamma(link = "log")))")
add("hydrology", 1500, list(flood_freq_pct=uniform(0, 100), y=gauss()), constants=list(k_use=10),
    r"(mgcv::gam(y ~ s(flood_freq_pct, k = k_use), data = s, method = "REML"))")
add("ecology", 500, list(low_canopy_25m=uniform(0, 1), high_canopy_25m=uniform(0, 1), richness=gauss()),
r"(gam(richness ~
                         s(low_canopy_25m, k = 5) +
                         s(high_canopy_25m, k = 5),
                       data = canopy_migration_GAM_df, method = "REML"))")
add("genomics", 800, list(logEffLibSizeFit=uniform(12, 16), cpmMidsFit=uniform(-2, 12), successes=counts(), failures=counts()),
    r"(gam(cbind(successes,failures) ~ logEffLibSizeFit + s(cpmMidsFit), family="binomial"))")
add("epidemiology", 1100, list(age=whole(20, 85), conc=uniform(0, 900), village1=whole(0, 1), female=whole(0, 1), at.risk=whole(50, 3000),
                               events=counts()),
r"(gam(events ~ s(age) + I(sqrt(conc))  + village1  + s(age, by = female) + offset(I(log(at.risk))),
                family = poisson(link = "log"), data = blad, select = TRUE))")
add("ecology", 1500, list(wind_vel_kmh=uniform(0, 60), bwa=uniform(0, 180), id=levels_of(12), flaps=counts()), constants=list(fac_k=3),
r"(gam(formula = flaps ~ te(wind_vel_kmh,bwa,k=c(fac_k,fac_k),bs=c('tp','tp')) +
                       s(id,k=length(unique(m_current$id)),bs="re"),
                     data = m_current,
                     family = "poisson",
                     method = "REML"))", refused="$")
add("forestry", 600, list(Planted=levels_of(2), TimeSinceFire=whole(1, 60), TotalCarbon=share()),
    r"(gam(formula = TotalCarbon ~ Planted + s(TimeSinceFire, bs = 'cr'), data = data, family = betar(link = "logit"), method = "REML"))")
add("linguistics", 3000, list(Duration=uniform(.03, .4), Speaker=levels_of(25), Vowel=levels_of(5), DV=gauss()),
r"(bam(DV ~ s(Duration, k = 20) +
        s(Duration, Speaker, bs = "fs", m = 1, k = 5) +
        s(Vowel, bs = "re"),
      data = df, method = "fREML", discrete = TRUE, nthreads = NTHREADS))")
add("fire ecology", 3000, list(x=uniform(0, 45), burned=binary()), constants=list(kgam=4, bs="cr", knots=NULL),
r"(bam(burned ~ s(x, k = kgam, bs = bs),
               family = "binomial", knots = knots,
               data = dlocal, method = "fREML", discrete = T, nthreads = 8))")
add("marine ecology", 3000, list(utm.lon=grid(0, 300, 30), utm.lat=grid(4900, 5300, 25), depth=grid(0, 500, 12), BestTaxon=levels_of(6), Detected=binary()),
r"(bam(Detected ~
        # main effects of space, depth, taxon
        # ti(utm.lon, utm.lat,
        #    d=2,
        #    k=13,
        #    bs="tp")+
        #  ti(depth,
        #     k=5,
        #     bs="ts")+
        ti(BestTaxon,
           k=6,
           bs="re")+
        # interaction between *everything*
        ti(utm.lon, utm.lat, depth, BestTaxon,
           d=c(2,1,1),
           k=c(13, 5, 6),
           bs=c("tp","ts", "re"))+
        # space-taxon effect
        ti(utm.lon, utm.lat, BestTaxon,
           d=c(2,1),
           k=c(13,6),
           bs=c("tp","re"))+
        # depth-taxon effect
        ti(depth, BestTaxon,
           k=c(5,6),
           bs=c("ts","re")),
      family = "binomial",
      method = "fREML",
      data = detect_data_merge_muri,
      discrete = TRUE))")
add("neuroscience", 3000, list(band=levels_of(2), epoch=levels_of(2), rep=levels_of(2), lat=uniform(-90, 90), long=uniform(-180, 180), accuracy=uniform(0, 1),
                               block=whole(1, 6), powerdb=gauss()),
r"(mgcv::bam(
				formula = powerdb ~ (
					band * epoch * rep + t2(
						lat , long , accuracy , block
						, by=interaction( band , epoch , rep )
									  , d = c(2,1,1)
									  , bs = c("sos","cr","cr")
									  , k = c(32,10,5)
									  )
					)
				, data = dat_PP_train
				, method = "fREML"
				, discrete = TRUE
				, nthreads = floor(parallel::detectCores()/3)
				, gc.level = 0
			))", refused="sos")
add("ecology", 5000, list(X_coord=uniform(0, 100), Y_coord=uniform(0, 80), Day=whole(1, 365), CAMFact=levels_of(40), AR1DEERSC=uniform(-1, 3),
                          TrailFact=levels_of(2), CombWolfPAFact=levels_of(2), ZWolfTrue=uniform(-2, 2), CombCoyFact=levels_of(2), wolfrange=levels_of(2),
                          DailySnowSC=uniform(-1, 3), Wooded250sc=uniform(-2, 2), DailyEVISC=uniform(-2, 2), IntEVIsc=uniform(-2, 2), DEER=masses()), large=TRUE,
r"(bam(formula = DEER*.25 ~ te(X_coord, Y_coord, Day,
                                   k = c(30,30), bs = c("cr", "cc"),
                                   d = c(2, 1)) +
             s(CAMFact, bs = "re") +
             s(AR1DEERSC, k=15, bs='cr') +
             TrailFact * CombWolfPAFact +
             TrailFact * ZWolfTrue +
             TrailFact * CombCoyFact +
             TrailFact * wolfrange +
             #s(ResEVIsc, k = 15, bs = "cr") +
             #+s(IntEVIsc, k = 15, bs = "cr") +
             DailySnowSC * CombWolfPAFact +
             DailySnowSC * ZWolfTrue +
             DailySnowSC * CombCoyFact +
             DailySnowSC * wolfrange +
             Wooded250sc * CombWolfPAFact +
             Wooded250sc * ZWolfTrue +
             Wooded250sc * CombCoyFact +
             Wooded250sc * wolfrange +
             DailyEVISC * CombWolfPAFact +
             DailyEVISC * ZWolfTrue +
             DailyEVISC * CombCoyFact+
             DailyEVISC * wolfrange+
              IntEVIsc * CombWolfPAFact +
              IntEVIsc * ZWolfTrue +
              IntEVIsc * CombCoyFact+
              IntEVIsc * wolfrange,
           family = tw(theta = NULL, link = "log", a = 1.01, b = 1.99),
           data = BehavsFrame_Cent_occu2, discrete = TRUE))")
add("plant pathology", 2500, list(tot.spore.deposition=exp(uniform(-8, 5)), height.cm=uniform(2, 60), mean.temp=uniform(5, 25), max.temp=uniform(15, 40),
                                  min.temp=uniform(-5, 12), mean.abs.hum=uniform(4, 12), max.abs.hum=uniform(8, 20), min.abs.hum=uniform(1, 6),
                                  mean.solar=uniform(50, 400), mean.daily.rain=uniform(0, 9), mean.wetness=uniform(0, 60), time=whole(2, 14), tag=levels_of(120),
                                  site=levels_of(4), status.next=binary()),
r"(bam(status.next~
             s(log10(tot.spore.deposition),height.cm)+
             s(mean.temp)+
             s(max.temp)+
             s(min.temp)+
             s(mean.abs.hum)+
             s(max.abs.hum)+
             s(min.abs.hum)+
             s(mean.solar)+
             s(mean.daily.rain)+
             s(mean.wetness)+
             +offset(log(time))+
             s(tag,bs="re")+
             s(site,bs="re"),
           family=binomial(link="cloglog"),
           select = T,
           method="fREML",
           data=transmission.data,
           control = list(nthreads=4),
           discrete = T))")
add("psychiatry", 2000, list(cbcl_scr_syn_totprob_r=whole(0, 80), interview_age=whole(107, 133), g=gauss()),
    "bam(g~s(cbcl_scr_syn_totprob_r)+s(interview_age),data=bootSamp)")
add("politics", 4000, list(person=levels_of(80), InGov=levels_of(2), Party=levels_of(6), yearsSince1972=whole(0, 47), day=levels_of(5), month=levels_of(11),
                           in_cohort=levels_of(9), Age=whole(23, 77), Future=share()),
r"(bam(Future ~
             # persistent individual effects
             s(person, bs="re") +
             # Political variables
             InGov + s(Party, bs="re") +
             #period
             s(yearsSince1972,bs="cr", k=20)+ day + month+
             #cohort
             s(in_cohort, bs="re")+
             # age
             s(Age,bs="cr", k=30),
           nthreads=6,
           family=betar(link="logit"),
           knots=list(yearsSince1972=seq(0,47,length=20),
                      Age=seq(23,77,length=30)),
           data = future_focus))")
add("fisheries", 4000, list(YEAR=whole(2000, 2019), SURF.TEMP=uniform(18, 31), BOT.SAL=uniform(25, 37), SURF.CHLOR=uniform(0, 8), BOT.OXY=uniform(0, 8),
                            BATHYMETRY=uniform(5, 110), RUGOSITY=uniform(0, 1), PLATFORM=uniform(0, 40), PIPELINE=uniform(0, 30), SAND=uniform(0, 100),
                            REEF=uniform(0, 50), LATITUDE=uniform(26, 31), LONGITUDE=uniform(-97, -88), PA=binary()), large=TRUE,
r"(bam(PA~s(YEAR,k=round(0.8*length(unique(summerdatatrain$YEAR)),0))+s(SURF.TEMP,k=25)+te(BOT.SAL,YEAR,k=round(0.8*length(unique(summerdatatrain$YEAR)),0))+s(SURF.CHLOR,k=25)+te(BOT.OXY,YEAR,k=round(0.8*length(unique(summerdatatrain$YEAR)),0))+s(BATHYMETRY,k=25)+s(RUGOSITY,k=25)+te(PLATFORM,YEAR,k=round(0.8*length(unique(summerdatatrain$PLATFORM)),0))+te(PIPELINE,YEAR,k=round(0.8*length(unique(summerdatatrain$YEAR)),0))+s(SAND,k=25)+s(REEF,k=10)+te(LATITUDE,LONGITUDE,k=50),data=summerdatatrain,family = binomial(link=logit),select=TRUE,discrete=TRUE,nthreads=8))",
    refused="$")
add("hydrology", 2000, list(Data.Value=uniform(0, 3000), UTMX=uniform(400, 500), UTMY=uniform(2900, 3000), Sal=gauss()), constants=list(sal.k=70, coord.K=4),
r"(bam(Sal~
             s(Data.Value,bs="cr",k=sal.k)+
             s(UTMX,UTMY,bs="ds",k=coord.K,m=c(1,0.5)),
           data=wq.q.dat[tr.index,]))")
add("linguistics", 3000, list(point=series(20), start.event=point == 1, cat=levels_of(3), word=levels_of(30), speaker=levels_of(12), semitone.norm=gauss()),
    constants=list(m5.acf=c(1, .6)),
r"(bam(semitone.norm ~ cat +
                s(word, bs="re") +
                s(point, speaker, by=cat, bs="fs", m=1),
              data=data,
              rho=m5.acf[2], AR.start=data$start.event))")
add("linguistics", 3000, list(Time=series(30)/29, start.event=Time < .05, Word=levels_of(2), Speaker=levels_of(15), Pos=gauss()), constants=list(rhoval=.7),
r"(bam(Pos ~ Word +
            s(Time, by=Word) +
            s(Time,Speaker,by=Word,bs="fs",m=1),
          data=dat,
          rho=rhoval,
          AR.start=dat$start.event))")
add("hydrology", 4000, list(Latitude_s=grid(-2, 2, 15), Longitude_s=grid(-2, 2, 15), Julian_day_s=grid(-1.7, 1.7, 50), TOT_mean30_s=grid(-1, 3, 60),
                            Time_num_s=grid(-2, 2, 40), Start=series(25) == 1, Temperature=gauss()), constants=list(D2_nomonthr=.4), large=TRUE,
r"(bam(Temperature ~ te(Latitude_s, Longitude_s, Julian_day_s, d=c(2,1), bs=c("tp", "cc"), k=c(25, 13)) +
                   te(Latitude_s, Longitude_s, Julian_day_s, d=c(2,1), bs=c("tp", "cc"), k=c(25, 13), by=TOT_mean30_s) +
                   s(Time_num_s, k=5), family=scat, rho=D2_nomonthr, AR.start=Start, data = Data_D2, method="fREML", discrete=T, nthreads=3))",
    differs=TRUE)  # on a grid mgcv's own fit with latitude and longitude swapped differs by 7e-3, and ours from it by 1.3e-2
add("fisheries", 600, list(salinity=uniform(0, 35), density_trait=masses()),
r"(gam(
      density_trait ~ s(salinity, k = 5),
      data = dat,
      family = tw()
    ))")
add("fisheries", 1500, list(SampleYear_factor=levels_of(8), Lat=uniform(54, 65), Lon=uniform(-180, -158), GearCode=levels_of(3), Number_of_Stomachs=whole(1, 20),
                            fullness=masses()),
r"(mgcv::gam(fullness ~ SampleYear_factor + s(Lat,Lon) + GearCode, weights = Number_of_Stomachs,
                      data = fullness_df, family = tw(link="log")))")
add("epidemiology", 900, list(pfpr10=uniform(0, 8), dtp3=uniform(20, 99), log_gdp=uniform(6, 10), pct_urban=uniform(10, 90), year_c=whole(-10, 10),
                              country=levels_of(30), exposure=uniform(100, 9000), deaths=counts()),
r"(mgcv::gam(deaths ~ s(pfpr10, k = 4) + dtp3 + log_gdp + pct_urban + s(year_c) +
                   s(country, bs = "re") + s(country, pfpr10, bs = "re") + offset(log(exposure)),
                 family = mgcv::nb(), method = "REML", data = dg))")
add("transport", 500, list(x=whole(1995, 2019), y=gauss()), r"(mgcv::gam(y ~ s(x), method = "REML", data = sample_data))")
add("physiology", 600, list(tw=uniform(5, 30), Time=levels_of(3), cond=levels_of(3), detrain=levels_of(2), participant=levels_of(20), rna=gauss()),
r"(gam(rna ~ tw + Time * cond + detrain + detrain:cond + s(participant, bs = "re"),
            method = "REML", data = temp))")
add("imaging", 950, list(Age_years=uniform(8, 23), Sex_factor=levels_of(2), HandednessV2=levels_of(2), MotionMeanRelRMS=uniform(0, .5), TBV=uniform(900, 1600),
                         WholeBrainAvg=gauss()),
    r"(gam(WholeBrainAvg ~ s(Age_years, k=4) + Sex_factor + HandednessV2 + MotionMeanRelRMS + TBV, method = "REML", data = Behavior))")
add("plant physiology", 500, list(log_conc=round(log(sample(c(95, 175, 250, 350, 500, 675, 1000), n, TRUE)), 5), plant_uo=levels_of(12), log_uptake=gauss()),
r"(gam(log_uptake ~ s(log_conc, bs = 'tp', k=5) + s(plant_uo, k=12, bs='re'),
    family = gaussian(), method = "REML", data = d1))")
add("ecology", 1000, list(Day=whole(0, 11), Microcosm=levels_of(16), Y=gauss()), constants=list(k_value=12, k_micro_value=9),
r"(gam(Y ~ s(Day, k = k_value) +
                  s(Day, Microcosm, bs = "fs", k = k_micro_value),
                family = gaussian(), method = "REML", data = d))")
add("remote sensing", 4000, list(bs=uniform(0, 1), frac_pf_slai_anom_3mo=uniform(-1, 1), mapet=uniform(900, 2000), fire_month_f=levels_of(9),
                                 post_precip_anom_frac=uniform(-1, 2), mappet=uniform(.2, 2), r365=positive(identity)),
r"(bam(r365~
    s(bs,k=5)+
    # s(I((min_slai_anom+slai_u)/slai_u),k=5) +
    s(frac_pf_slai_anom_3mo,k=5)+
    s(mapet,k=5)+
    fire_month_f+
    # s(I(post_pet_anom_12mo/mapet),k=5)+
    s(post_precip_anom_frac,k=5)+ # seems real
    s(log(mappet),k=5),
  family=Gamma(link='identity'),
  # method='fREML',
  data=dat_r,
  select=T,
  discrete=TRUE
  ))")
add("genetics", 2000, list(lat=uniform(-40, 70), long=uniform(-150, 150), D=uniform(0, 1), year=grid(0, 1, 30), hd=uniform(0, 1), p.lu=uniform(0, 1),
                           pop=levels_of(15), wts=uniform(.4, 1.9), div=masses()),
r"(bam(div ~ s(lat,long, bs='gp', k = 50) + s(D, k = 8, bs = 'tp') + s(year, k = 8, bs = 'tp') +
                 ti(year,hd, k = 8) + ti(year,p.lu, k = 8) + s(year,pop, bs = 'fs', k = 5, m = 1),
               data = temp, family = tw, method='fREML', discrete = T, weights = wts))")
add("phenology", 600, list(X=uniform(0, 500), Y=uniform(0, 300), DEM=uniform(0, 2500), DOY=gauss()), constants=list(bam_k=240),
r"(mgcv::bam(
      DOY ~ s(X, Y, bs = "tp", k = bam_k) + s(DEM, bs = "tp", k = 10),
      data = train_df,
      method = "fREML",
      discrete = TRUE,
      nthreads = 2
    ))")
add("meteorology", 3000, list(var_2t=uniform(270, 310), var_2d=uniform(265, 298), ssrd=uniform(0, 900), hour=whole(0, 23), rh_obs=positive()), large=TRUE,
r"(bam(rh_obs ~ te(var_2t, var_2d, ssrd, hour),
              family=Gamma(link='log'),
              method='fREML',
              select=T,
              discrete = T,
              nthreads = 10,
              data=train))")
add("fisheries", 3000, list(LFA=whole(33, 34), DOS=whole(1, 180), fYear=levels_of(12), leffort=round(log(whole(50, 400)), 5), WEIGHT_KG=positive()),
    r"(bam(WEIGHT_KG~s(DOS)+fYear+offset(leffort),data=subset(ca,LFA==34),family = Gamma(link='log'),method='fREML',discrete = T,samfrac=.1,nthreads=detectCores()-1))")
add("energy", 2500, list(x=uniform(0, 200), y=uniform(0, 150), Dist=uniform(0, 150), close_sensor=as.numeric(Dist <= 100), close_sensor_andON=close_sensor*whole(0, 1),
                         Month=whole(1, 12), Year=whole(2010, 2015), Mean_Cue=counts()), constants=list(maxDist=100),
r"(mgcv::bam(as.integer(Mean_Cue) ~  te(x,y) +
                                        s(Dist, k=5) +
                                        s(Dist, by=close_sensor, k=5) +
                                        s(Dist, by=close_sensor_andON, m=1, pc=maxDist, k=5) +
                                        as.factor(Month) +
                                        s(Year, k=3), data=ndf,family = quasipoisson(link = "log"), method="fREML",
                                      discrete=TRUE))")
add("air quality", 2000, list(height=levels_of(3), hour=whole(0, 23), date_num=whole(1, 40), location_f=levels_of(12), log_value=gauss()),
r"(bam(log_value~height+s(hour,bs="cc",k=12)+s(date_num,k=15)+
    s(location_f,bs="re"),data=d,method="fREML",discrete=TRUE,
    knots=list(hour=c(0,24))))")
add("epidemiology", 800, list(lng=uniform(30, 40), lat=uniform(-5, 5), n_positive=counts(), n_neg=counts()), constants=list(k=500, m=3),
r"(gam(cbind(n_positive, n_neg) ~
                           s(lng, lat, bs="gp", k=k, m=m),
                         data = train_data,
                         #method="fREML",
                         nthreads = 8,
                         discrete = TRUE,
                         family="binomial"))")
add("remote sensing", 2500, list(ddate=grid(1988, 2015, 60), fcell=levels_of(8), month=whole(1, 12), p_img_a=uniform(-1, 2), x=uniform(120, 150), y=uniform(-35, -20),
                                 pv=masses()),
r"(bam(pv ~
      # continuous var, grouping factor, bs='factor smooth'
      s(ddate, fcell, bs='fs') +
      s(month, bs='cc') +
      s(p_img_a,k=5) +
      te(x, y, fx = T),
    # family = gaussian(),
    family = tw(),
    select = TRUE,
    # rho = 0.79,
    method = "fREML",
    discrete = T,
    data = tmp3))")
add("ecology", 900, list(Week=factor(sample(c("WK1", "WK2", "WK3"), n, TRUE)), plant.mass..g=grid(0, 12, 40), Treatment=levels_of(4), ppm=gauss()),
    constants=list(timepoint="WK3"),
r"(gam(ppm ~ s(plant.mass..g, k=5, bs="tp") +
            s(plant.mass..g, Treatment, k=5, bs="re"), data=subset(CO2, Week %in% timepoint), method="REML", family="gaussian"))")
add("ecotoxicology", 1200, list(day=whole(1, 139), Treatment=levels_of(2), Nhat=masses()), constants=list(k=40),
r"(gam(Nhat~s(day, k=k) + s(day, Treatment, bs="fs"),
                 data=populations, select=TRUE, method="REML", family=tw()))")
add("zoology", 600, list(CommonName=levels_of(8), TimeIntoLactation=uniform(0, 1), response=positive()),
r"(mgcv::gam(response ~ s(CommonName,bs="re") + s(TimeIntoLactation,bs="tp",k=5),
                                        data = .x, method="REML", family=gaussian(link="log")))")
add("avalanches", 800, list(doy=whole(1, 365), V1=uniform(-2, 2), y=counts()), constants=list(knots=list(doy=c(.5, 365.5))),
    r"(gam(y ~ s(doy, bs='cc') + s(V1) + ti(V1, doy, bs=c('tp','cc')), data = dt.21d, knots = knots, method="REML", family="poisson"))")
add("geostatistics", 600, list(x=uniform(0, 1), y=uniform(0, 1), signal=gauss()), constants=list(k=3),
r"(gam(
    signal ~ te(x, y, k=k, bs="gp"),  # , k=12, bs="so"
    data=df.knots,
    method="REML",
    family=gaussian
  ))")
add("epidemiology", 500, list(Day=whole(1, 70), Day.Of.Week=levels_of(7), Cases=counts()),
    r"(gam(Cases ~ s(Day) + Day.Of.Week, data=daily.case, method="REML", family=nb(link=log,theta=NULL)))")
add("ecology", 2000, list(age_year=whole(1, 18), newlifespan=whole(1, 18), SexEstimate=levels_of(2), avg_invert=uniform(5, 20), newstat=levels_of(3),
                          BirdID=levels_of(150), birthyear=whole(1995, 2015), Observer=levels_of(12), RightTarsus_z=gauss()),
r"(gam(RightTarsus_z~s(age_year,k=16)+newlifespan+SexEstimate+
               avg_invert+newstat+s(BirdID, bs="re")+
               s(birthyear, bs="re")+s(Observer, bs="re"),
             data = physio, method="REML", family=gaussian))")
add("ecology", 500, list(veg_altitude=uniform(200, 2800), veg_richness=gauss()), "gam(veg_richness ~ s(veg_altitude, k = 30), data = env_index)")
add("psycholinguistics", 3000, list(talker_coded=whole(0, 1) - .5, time_elapsed=grid(0, 2000, 41), verb_type_coded=whole(0, 1) - .5, Condition=levels_of(4),
                                    log_SUBTLWF_Obj=uniform(1, 5), Participant.Private.ID=levels_of(12), subject_img_coded=levels_of(8), Event=levels_of(60),
                                    target=binary()),
r"(bam(target ~ talker_coded +
              s(time_elapsed, by=talker_coded) +
              verb_type_coded +
              s(time_elapsed, by=verb_type_coded) +
              talker_coded:verb_type_coded +
              s(time_elapsed, by=Condition)+
              s(log_SUBTLWF_Obj)+
              s(time_elapsed, Participant.Private.ID, bs="fs", m=1)+
              s(time_elapsed, subject_img_coded, bs="fs", m=1)+
              s(Event, bs="re"),
                  family="binomial", data=gamm_data, discrete=TRUE, method="fREML"))")
add("energy", 2500, list(WeekDays=levels_of(7), toy=round(whole(0, 364)/364, 5), Load.1=uniform(30000, 90000), Load.7=uniform(30000, 90000), Temp=uniform(-5, 30),
                         Temp_s99=uniform(-2, 27), Load=gauss()),
r"(gam(Load ~ WeekDays +
                    s(toy,k=30, bs='cc') +
                    s(Load.1, bs='cr')+ s(Load.7, bs='cr') +
                    s(Temp,k=10, bs='cr') + s(Temp_s99,k=10, bs='cr'), data=data0))")
add("energy", 2000, list(WeekDays=levels_of(7), Load.1=uniform(30000, 90000), Temp=uniform(-5, 30), Load=gauss()),
    r"(gam(formula = Load ~ WeekDays + s(Load.1, k=10, bs="cr") + s(Temp, k=10, bs="cr"), data=Data0))")
add("insurance", 2000, list(ageph=whole(18, 95), claimAm=positive()), r"(gam(claimAm ~ s(ageph), data = train_nozero, family = Gamma(link = "log")))")
add("epidemiology", 1500, list(pm2=uniform(5, 250), so2=uniform(2, 60), no2=uniform(10, 120), mean_temp=uniform(-10, 32), rh=uniform(20, 98), time=seq_len(n), dow=whole(1, 7),
                               holiday=whole(0, 1), I10=counts()),
    r"(gam(I10 ~ pm2 + so2 + no2 + s(mean_temp, k=4) + s(rh, k=4) + s(time, k=2*7+1) + as.factor(dow) + as.factor(holiday), family = "quasipoisson", analysis))")
add("epidemiology", 4000, list(tmax=uniform(-5, 38), dptp=uniform(-20, 25), city=levels_of(5), agecat=ordered(sample(c("65to74", "75p", "under65"), n, TRUE), c("under65", "65to74", "75p")),
                               time=whole(1, 5113), pop=whole(2000, 90000), cvd=counts()), constants=list(numYears=14),
r"(gam(cvd ~ s(tmax) + s(dptp) +
           city + agecat +
           s(time, k= 7*numYears, fx=T) +
           offset(log(pop)),
           data = analyte, family = poisson
           ))")
add("marine ecology", 2000, list(Effort=uniform(1, 20), lon=uniform(-10, 5), lat=uniform(40, 60), msfd=levels_of(2), Bathy=uniform(0, 4000), Slope=uniform(0, 20),
                                 Aspect=uniform(0, 360), mSST=uniform(8, 20), season=levels_of(2), gradSST=uniform(0, 1), EKE=uniform(0, 1), NPPV=uniform(0, 1), ppho=counts()),
r"(gam(ppho ~ 1 + offset(I(log(Effort))) +
                s(lon, lat, bs = 'so', xt = list(bnd = bnd), by = msfd) +
                s(Bathy, bs = "cs", k = 4) +
                s(Slope, bs = "cs", k = 4) +
                s(Aspect, bs = "cs", k = 4) +
                s(mSST, bs = "cs", k = 4) +
                s(mSST, season, k = 4, bs = "fs") +
                s(gradSST, bs = "cs", k = 4) +
                s(gradSST, season, k = 4, bs = "fs") +
                s(EKE, bs = "cs", k = 4) +
                s(EKE, season, k = 4, bs = "fs") +
                s(NPPV, bs = "cs", k = 4) +
                s(NPPV, season, k = 4, bs = "fs"),
              family = nb(),
              method = "REML",
              data = obs,
              drop.unused.levels = FALSE
              ))", refused="so")
add("psychology", 900, list(Group=levels_of(2), time=levels_of(3), SCON=uniform(1, 5), stress=uniform(0, 4), Age=whole(20, 60), sex=levels_of(2), id=levels_of(60), WFI=gauss()),
r"(gam(WFI ~ Group*time +
                   s(SCON, by = time) +
                   stress +
                   Age +
                   sex +
                   s(id, bs = "re"),
                 data = data_imputed_pooled_all,
                 method = "REML"))")
add("marine ecology", 3000, list(age_sex=levels_of(3), ar1_id=levels_of(40), hour=whole(0, 23), sin1=round(sin(pi*hour/12), 6), cos1=round(cos(pi*hour/12), 6),
                                 sin2=round(sin(pi*hour/6), 6), cos2=round(cos(pi*hour/6), 6), sin3=round(sin(pi*hour/4), 6), cos3=round(cos(pi*hour/4), 6), day=round(uniform(-1.5, 1.5), 3),
                                 day2=day^2, day3=day^3, temp2=uniform(-20, 10), wind=uniform(0, 20), pressure=uniform(98, 104), precip=uniform(0, 5), dry=binary()),
r"(mgcv::bam(
    dry ~ age_sex + s(ar1_id, bs = "re") + sin1 + cos1 + sin2 + cos2 + sin3 + cos3 + day + day2+ day3 + temp2 + wind + pressure + precip + wind*temp2 +
      sin1*day + cos1*day + sin2*day + cos2*day + sin3*day + cos3*day +
      sin1*day2 + cos1*day2 + sin2*day2 + cos2*day2 + sin3*day2 + cos3*day2 +
      age_sex:day + age_sex:day2 + age_sex:day3,
    data = HO_spotted,
    discrete = TRUE
  ))")
add("zoology", 2500, list(f.sex=levels_of(2), x.council=uniform(0, 90), y.council=uniform(0, 60), Jday=whole(240, 360), q_media=uniform(800, 2600), q_min=uniform(300, 1900),
                          weight=uniform(8, 22), f.substrate=levels_of(3), density=uniform(0, 12), ndvi.slop1=uniform(0, 1), ndvi.maxincr1=uniform(0, 1), ndvi.may1.new=uniform(0, 1),
                          ndvi.slop2=uniform(0, 1), ndvi.maxincr2=uniform(0, 1), Perc.area.aperta=uniform(0, 1), aspect=levels_of(4), snow_winter1=uniform(0, 200), r_newsummer1=uniform(0, 400),
                          snow_winter2=uniform(0, 200), r_spring2=uniform(0, 400), r_newsummer2=uniform(0, 400), twinter.mean1=uniform(-8, 3), tspring1.mean=uniform(0, 10),
                          tsummer1.mean=uniform(8, 20), twinter.mean2=uniform(-8, 3), tspring2.mean=uniform(0, 10), tsummer2.mean=uniform(8, 20), horn=gauss()),
    r"(gam(horn ~ f.sex + s(x.council, y.council) + s(Jday) + s(q_media, bs="cs") + s(q_min, bs="cs") + s(weight) + f.substrate + s(density, bs="cs") + s(ndvi.slop1, bs="cs") + s(ndvi.maxincr1, bs="cs") + s(ndvi.may1.new, bs="cs") + s(ndvi.slop2, bs="cs") + s(ndvi.maxincr2, bs="cs") + s(Perc.area.aperta, bs="cs") + s(snow_winter1, by=aspect, k=3) + s(r_newsummer1, k=3) + s(snow_winter2, by=aspect, k=3) + s(r_spring2, k=3) + s(r_newsummer2, k=3) + s(twinter.mean1, k=3) + s(tspring1.mean, k=3) + s(tsummer1.mean, k=3) + s(twinter.mean2, k=3) + s(tspring2.mean, k=3) + s(tsummer2.mean, k=3), data=db))")
add("epidemiology", 2500, list(mean.temp=uniform(-3, 31), rel.humid=uniform(20, 100), SO2_log=uniform(1, 6), TSP=uniform(20, 500), tot.mort=gauss()),
r"(gam(tot.mort ~ s(mean.temp) + s(rel.humid) + s(SO2_log) + s(TSP),
                 family = gaussian,
                 data = mort))")
add("survival", 900, list(tend=sample(c(50, 100, 200, 300, 400), n, TRUE), trt=whole(1, 2), offset=round(log(uniform(1, 100)), 5), ped_status=whole(0, 1)),
r"(mgcv::bam(ped_status ~ s(tend, k = 5) + trt, data = ped,
  family = poisson(), offset = offset, method = "fREML", discrete = TRUE))")
add("prices", 2000, list(color=levels_of(7), clarity=levels_of(8), price=gauss()), r"(bam(price ~ s(color, clarity, bs = "re"), data = diamonds, discrete = TRUE))")
add("functional data", 3000, list(yindex.vec=grid(0, 1, 60), xsmoo=uniform(-2, 2), xlin=uniform(-2, 2), Y=gauss()),
r"(bam(formula = Y ~ s(x = yindex.vec, bs = "ps", k = 20, m = c(2,
     1)) + ti(xsmoo, d = c(1, 1), yindex.vec, mc = c(TRUE, FALSE),
     bs = c("tp", "ps"), m = c(2, 1), k = c(8, 5)) + ti(xlin,
       d = c(1, 1), yindex.vec, mc = c(TRUE, FALSE), bs = c("tp",
         "ps"), m = c(2, 1), k = c(8, 5)), data = pffrdata, method = "fREML",
   chunk.size = 1000, discrete = TRUE))")
add("forest entomology", 2500, list(spei1=uniform(-3, 3), spei6=uniform(-3, 3), TMED=uniform(0, 25), PRCP=uniform(0, 250), freq=uniform(0, 30), month=whole(4, 10), year=whole(2015, 2023),
                                    ips_sum=masses()),
r"(bam(ips_sum ~ s(spei1) +
           #s(spei3) +
           s(spei6) +
           s(TMED, k = 100) +
           s(PRCP) +
           s(freq) +
           s(month, k = 7, bs = 'cc') +
           s(year, k=8) +
           ti(TMED, spei6),
         ips_sum2,
         family = tw(link = "log")))")
add("agriculture", 1000, list(Year=whole(1980, 2010), NAME=levels_of(40), Acres.harvested=gauss()), "bam(Acres.harvested ~ as.factor(Year)+NAME, data=t.dat)")
add("plant ecology", 700, list(site=whole(1, 8), tmax_sum_dif=uniform(-5, 5), tmax_sum=uniform(25, 38), rgr=gauss()),
r"(bam(rgr ~ s(tmax_sum_dif) +
                    s(tmax_sum),

              data = sim[sim$site %in% c(3,5),]))")
add("fisheries", 1500, list(Year=whole(2000, 2012), Month=whole(1, 12), y=masses()), constants=list(p=1.3),
    r"(bam(y~as.factor(Year)+s(Month,bs="cc",k=8),data = final_dat,family=Tweedie(p=p)))")
add("linguistics", 2500, list(participant=levels_of(20), file=levels_of(60), closest_angle=uniform(0, 180), z_y=gauss()),
r"(bam(
    z_y ~
      s(participant, bs = "re") +
      s(file, bs = "re") +
      s(closest_angle, participant, bs = "fs"),
    data = data,
    method = "fREML",
    discrete = TRUE
  ))")
add("proteomics", 500, list(x=uniform(0, 10), y=gauss()), "bam(y ~ s(x), data=data)")
add("marine ecology", 2500, list(night_day=levels_of(2), tidal_phase=levels_of(4), ID=levels_of(12), dist_from_seabed=positive()),
r"(bam(dist_from_seabed ~  night_day + tidal_phase + night_day:tidal_phase +
                   s(ID, bs="re"),
                 family = Gamma(link = "log"), data = subset, discrete = TRUE,
                 rho=0.99,
                 na.action = na.omit))", differs=TRUE)  # bam stops short of its own fixed point

