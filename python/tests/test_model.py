# SPDX-License-Identifier: Apache-2.0
"""Models equal those of tessera-fit, and report their properties."""

from __future__ import annotations

import contextlib
import copy
import doctest
import functools
import html
import inspect
import math
import os
import pickle
import re
import select
import shlex
import warnings
from unittest import mock

import numpy as np
from support import FORMULA, InFolder, main, needs, rows

import tessera_gam
from tessera_gam import GAM, InputError, TesseraError, TesseraWarning, UsageError, _native, fit_quantiles


class SameBits(InFolder):
    """`save` writes the same file as the program."""

    def expect_same(self, data, formula, *, arguments=(), fit=None, **options):
        path = self.write_csv("rows.csv", data)
        self.tessera_fit("fit", path, "--formula", formula, "--out", self.folder / "program.json", *arguments)
        GAM(formula, **options).fit(data, **fit or {}).save(self.folder / "package.json")
        program, package = (self.folder / f"{name}.json" for name in ("program", "package"))
        self.assertEqual(program.read_bytes(), package.read_bytes())

    def test_gaussian(self):
        self.expect_same(rows(), FORMULA)

    def test_counts_with_weights_and_missing_values(self):
        data = rows()
        data["y"] = np.round(np.exp(data["y"]))
        data["x"][11] = np.nan
        arguments = ("--family", "nb", "--weights", "w", "--subset", "z < 0.9", "--gamma", "1.4")
        fit = {"weights": "w", "subset": "z < 0.9"}
        self.expect_same(data, "y ~ s(x) + te(x, z, k=4)", arguments=arguments, fit=fit, family="nb", gamma=1.4)

    def test_several_linear_predictors(self):
        formulas = ["y ~ s(x, k=6)", "~ s(z, k=5)"]
        self.expect_same(rows(), f"list({', '.join(formulas)})", arguments=("--family", "gaulss"), family="gaulss")
        data = rows()
        model = GAM(formulas, family="gaulss").fit(data)
        found = model.predict(data, se=True)
        self.assertEqual(list(found), ["fit", "se", "fit.1", "se.1"])
        scale = model.predict(data, "response")["fit.1"]
        np.testing.assert_allclose(scale, 1 / (np.exp(found["fit.1"]) + 0.01))
        classes = GAM(["g ~ s(x, k=6)"], family="multinom").fit(data | {"g": np.where(data["y"] > 0, "high", "low")})
        shares = classes.predict(data, "response")
        np.testing.assert_allclose(shares["fit.high"] + shares["fit.low"], 1)
        difference = data["y"] - found["fit"]
        np.testing.assert_allclose(model.residuals("response"), difference)
        np.testing.assert_allclose(model.residuals("all", data)["pearson"], difference * scale)
        self.assertEqual(model.check(data).frame("bases")["term"][1], "s.1(z)")
        with self.assertRaisesRegex(UsageError, "has only residuals of the types deviance, pearson, response and all"):
            model.residuals("working")
        with self.assertRaisesRegex(UsageError, "no residuals of the type response"):
            classes.residuals("response")
        with self.assertRaisesRegex(UsageError, "has 2 linear predictors, but there is 1 formula"):
            GAM("y ~ s(x)", family="gaulss").fit(data)

    def test_ordered_classes(self):
        data = rows()
        cuts = np.quantile(data["y"], [0.3, 0.6])
        data["k"] = np.digitize(data["y"], cuts) + 1
        formula = "k ~ s(x, k=6) + z"
        self.expect_same(data, formula, arguments=("--family", "ocat(R=3)"), family="ocat(R=3)")
        model = GAM(formula, family="ocat(R=3)").fit(data)
        found = model.predict(data, "response", se=True)
        self.assertEqual(list(found), ["fit.1", "se.1", "fit.2", "se.2", "fit.3", "se.3"])
        threshold = model.summary()["parameters"]["threshold.2"]
        up_to = 1 / (1 + np.exp(model.predict(data) - threshold))
        np.testing.assert_allclose(found["fit.1"] + found["fit.2"], up_to)
        levels = data | {"k": np.array(["a", "b", "c"])[data["k"] - 1]}
        of_levels = GAM(formula, family="ocat(R=3)").fit(levels)
        np.testing.assert_array_equal(of_levels.predict(data, "response")["fit.c"], found["fit.3"])
        with self.assertRaisesRegex(InputError, "give a response with 4 levels, as many as ocat's R"):
            GAM(formula, family="ocat(R=4)").fit(levels)

    def test_censored_responses(self):
        data = rows()
        low = np.quantile(data["y"], 0.2)
        data["limit"] = np.where(data["y"] > low, data["y"], -np.inf)
        data["y"] = np.maximum(data["y"], low)
        formula = "cbind(y, limit) ~ s(x, k=6) + z"
        self.expect_same(data, formula, arguments=("--family", "cnorm"), family="cnorm")
        model = GAM(formula, family="cnorm").fit(data)
        sigma = model.summary()["parameters"]["sigma"]
        residual = (data["y"] - model.predict(data)) / sigma
        observed = data["y"] > low
        deviance = model.residuals("deviance", data)
        np.testing.assert_allclose(deviance[observed], residual[observed])
        below = np.array([math.erfc(-one / math.sqrt(2)) / 2 for one in residual[~observed]])
        np.testing.assert_allclose(deviance[~observed] ** 2, -2 * np.log(below))

    def test_quantiles(self):
        data = rows()
        formula, family = "y ~ s(x, k=6) + z", "elf(qu=0.8, lsig=-2, co=0.05)"
        self.expect_same(data, formula, arguments=("--family", family), family=family)
        model = GAM(formula, family=family).fit(data)
        parameters = model.summary()["parameters"]
        self.assertEqual({name: parameters[name] for name in ("qu", "lsig", "co")}, {"qu": 0.8, "lsig": -2, "co": 0.05})
        below = np.mean(data["y"] < model.predict(data))
        self.assertAlmostEqual(below, 0.8, delta=0.05)
        with self.assertRaisesRegex(UsageError, "has only a quantile"):
            model.predict(data, "response", prediction_interval=0.9)

    def test_zero_inflated_counts(self):
        data = rows()
        random = np.random.default_rng(9)
        rate = np.exp(0.5 + data["y"] / 3)
        data["k"] = random.poisson(rate) * (random.random(len(rate)) < 0.6)
        formula = "k ~ s(x, k=6) + z"
        self.expect_same(data, formula, arguments=("--family", "zip"), family="zip")
        model = GAM(formula, family="zip").fit(data)
        found = model.predict(data, "response", se=True)
        self.assertEqual(list(found), ["fit", "se"])
        link = model.predict(data, se=True)
        parameters = model.summary()["parameters"]
        presence = np.exp(parameters["intercept"] + parameters["slope"] * link["fit"])
        mean = (1 - np.exp(-presence)) * np.exp(link["fit"]) / (1 - np.exp(-np.exp(link["fit"])))
        np.testing.assert_allclose(found["fit"], mean)
        np.testing.assert_allclose(model.residuals("response"), data["k"] - mean)
        self.assertTrue((found["se"] > 0).all())
        drawn = np.array(list(model.simulate(200, data, seed=1).values()))
        self.assertLess(abs(drawn.mean() - mean.mean()), 0.05)
        interval = model.predict(data, "response", prediction_interval=0.9)
        inside = (data["k"] >= interval["prediction.lower"]) & (data["k"] <= interval["prediction.upper"])
        self.assertGreater(inside.mean(), 0.85)
        with self.assertRaisesRegex(InputError, "is 0 or 1 in every complete row: use the family binomial"):
            GAM(formula, family="zip").fit(data | {"k": np.minimum(data["k"], 1)})

    def test_several_quantiles(self):
        data = rows()
        formula = "y ~ s(x, k=6) + z"
        with self.assertLogs("tessera_gam", "INFO") as log:
            models = fit_quantiles(formula, data, [0.9, 0.25])
        self.assertRegex(log.output[-1], "quantiles cross in [0-9]+ rows of the table")
        self.assertEqual(list(models), [0.25, 0.9])
        alone = GAM(formula, family="elf(qu=0.25)").fit(data)
        np.testing.assert_array_equal(models[0.25].predict(data), alone.predict(data))
        with self.assertRaisesRegex(UsageError, "a fit has only one quantile"):
            GAM(formula, family="elf(qu=c(0.25, 0.9))").fit(data)

    def test_lists_and_dicts(self):
        formula = "y ~ s(x, bs='cc', k=6) + s(z, k=5)"
        arguments = ("--knots", "x=0,1", "--sp", "0.5,-1", "--select")
        self.expect_same(rows(), formula, arguments=arguments[:-1], knots={"x": [0, 1]}, sp=[0.5, -1])

    def test_penalties_of_terms(self):
        text = '{"g": {"S": [[[2.0, -1.0], [-1.0, 2.0]]]}, "z": {"S": [[[1]]], "sp": [3]}}'
        penalties = {"g": [np.array([[2.0, -1.0], [-1.0, 2.0]])], "z": {"S": [[[1]]], "sp": [3]}}
        for given in (penalties, text):
            self.expect_same(rows(), "y ~ g + z + s(x, k=5)", arguments=("--para-pen", text), para_pen=given)
        with self.assertRaisesRegex(UsageError, "the formula has no parametric term 'x'"):
            GAM("y ~ g + s(x)", para_pen={"x": [np.eye(1)]}).fit(rows())

    def test_single_values_and_arrays(self):
        formula = "y ~ s(x, k=6)"
        for sp in (0.5, [0.5], np.array(0.5), np.array([0.5]), np.float32(0.5)):
            self.expect_same(rows(), formula, arguments=("--sp", "0.5"), sp=sp)
        found = _native.option_texts({"levels": {"g": "ab"}, "knots": {"x": 3, "z": np.array([0, 1])}, "terms": "s(x)"})
        self.assertEqual(found, [("levels", '"g"="ab"'), ("knots", "x=3"), ("knots", "z=0,1"), ("terms", "s(x)")])

    def test_predictions(self):
        data, new = rows(), rows(200, seed=2)
        model = GAM(FORMULA).fit(data)
        model.save(self.folder / "model.json")
        path = self.write_csv("new.csv", new)
        for kind in ("link", "response", "terms", "iterms", "lpmatrix"):
            out = self.folder / f"{kind}.csv"
            self.tessera_fit("predict", self.folder / "model.json", path, "--type", kind, "--out", out)
            expected = np.loadtxt(out, delimiter=",", skiprows=1)
            found = model.predict(new, type=kind)
            if isinstance(found, dict):
                found = np.column_stack(list(found.values()))
            np.testing.assert_array_equal(found, expected, kind)

    def test_a_model_without_coefficients_predicts(self):
        data = rows(30)
        model = GAM("y ~ 0").fit(data)
        for kind in ("terms", "iterms"):
            self.assertEqual(model.predict(data, type=kind), {}, kind)
        self.assertEqual(model.predict(data, type="lpmatrix").shape, (30, 0))
        np.testing.assert_array_equal(model.differences(data, data)["se"], np.zeros(30))


class Launched(InFolder):
    """The program under a launcher (here `env`) makes the same model as this process."""

    def setUp(self):
        super().setUp()
        self.rows = rows()
        self.rows["x"][11] = np.nan
        self.launch = {"launcher": "env", "workdir": self.folder}
        if "TESSERA_FIT" not in os.environ:
            self.skipTest("there is no tessera-fit: set TESSERA_FIT")

    def test_same_bits(self):
        data = self.rows | {"f": np.arange(1000) % 3 > 0}
        model = GAM("y ~ f + s(x, by=g, k=6)", select=True, sp=[-1, 0.5] + [-1] * 4, residuals=False)
        arguments = {"weights": self.rows["w"], "subset": data["z"] < 0.9}
        here = model.fit(data, **arguments).to_json()
        self.assertEqual(model.fit(data, **arguments, **self.launch).to_json(), here)
        self.assertEqual(list(self.folder.iterdir()), [])
        path = self.write_csv("rows.csv", self.rows)
        self.assertEqual(GAM(FORMULA).fit(path, **self.launch).to_json(), GAM(FORMULA).fit(self.rows).to_json())

    @needs("pandas")
    def test_levels_keep_their_order_and_texts(self):
        import pandas as pd

        data = pd.DataFrame(self.rows)
        data["size"] = pd.Categorical(np.array(["mid", "10", "low"])[np.arange(1000) % 3], ["mid", "low", "10"])
        data["code"] = np.array(["1", "02", "10", "01"])[np.arange(1000) % 4]
        model = GAM("y ~ size + factor(g) + code")
        here = model.fit(data).to_json()
        self.assertEqual(model.param_names[1:3], ["sizelow", "size10"])
        self.assertEqual(model.param_names[-3:], ["code1", "code02", "code10"])
        self.assertEqual(model.fit(data, **self.launch).to_json(), here)
        data["size"] = data["size"].cat.rename_categories({"low": '"low", or so'})
        here = model.fit(data).to_json()
        self.assertEqual(model.fit(data, **self.launch).to_json(), here)
        data["size"] = data["size"].cat.as_ordered()
        model = GAM("y ~ size").fit(data, **self.launch)
        self.assertEqual(model.param_names[1:], ["size.L", "size.Q"])

    def test_failures_are_exceptions(self):
        with self.assertRaisesRegex(InputError, "unknown column 'q'"):
            GAM("y ~ q").fit(self.rows, **self.launch)
        with self.assertRaisesRegex(UsageError, "none: cannot be run"):
            GAM("y ~ x").fit(self.rows, **self.launch, program="/none")
        faults = []
        for how in ({}, self.launch):
            with self.assertRaises(tessera_gam.FormulaError) as raised:
                GAM('y ~ s(é, bs="zz") + te(é, q=1)').fit(self.rows, **how)
            faults.append((str(raised.exception), raised.exception.position, raised.exception.__notes__))
        self.assertEqual(*faults)
        for launcher, why in (("/none -np 2", "/none: cannot be run: No such file"), ("a 'b", "No closing quotation")):
            with self.assertRaisesRegex(UsageError, why):
                GAM("y ~ x").fit(self.rows, launcher=launcher, workdir=self.folder)
        with self.assertRaisesRegex(UsageError, "the column ' x' has blanks around its name"):
            GAM("y ~ ` x`").fit({"y": self.rows["y"], " x": self.rows["z"]}, **self.launch)
        with self.assertRaisesRegex(UsageError, "is version 0.0.1, but this package"):
            GAM("y ~ x").fit(self.rows, **self.launch, program=self.script("echo tessera-fit 0.0.1"))

    def script(self, text):
        path = self.folder / "script"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def in_place_of_program(self, text):
        return self.script(f'program={shlex.quote(self.tessera_fit())}\n[ "$1" = fit ] || exec "$program" "$@"\n{text}')

    def test_what_a_program_says_may_be_no_utf8(self):
        program = self.in_place_of_program('printf "\\377\\n" >&2; exec "$program" "$@"')
        with self.assertLogs("tessera_gam") as log:
            GAM("y ~ z").fit(self.rows, **self.launch, program=program)
        self.assertIn("\\xff", log.output[0])

    def test_a_file_may_be_named_like_an_option(self):
        self.write_csv("-x.csv", self.rows)
        with contextlib.chdir(self.folder):
            model = GAM("y ~ z").fit("-x.csv", **self.launch)
        self.assertEqual(model.to_json(), GAM("y ~ z").fit(self.rows).to_json())

    def test_an_interrupt_ends_all_processes_of_a_launcher(self):
        program = self.in_place_of_program("echo $$ >&2; exec sleep 600")
        processes = []

        def interrupt(line):
            processes.append(os.pidfd_open(int(line)))
            raise KeyboardInterrupt

        with mock.patch.object(_native, "log", interrupt), self.assertRaises(KeyboardInterrupt):
            GAM("y ~ z").fit(self.rows, launcher="sh -c '\"$@\"; exit 1' sh", program=program, workdir=self.folder)
        self.addCleanup(os.close, processes[0])
        longest_end = 60  # seconds; the files of a process are closed shortly before it ends
        self.assertTrue(select.select(processes, [], [], longest_end)[0])


class Options(InFolder):
    """Arguments are options, and each is an option of the engine."""

    def setUp(self):
        super().setUp()
        self.enterContext(contextlib.chdir(self.folder))
        self.rows = rows(60)
        self.model = GAM("y ~ g + s(x, k=5, by=g)").fit(self.rows)

    def test_each_is_an_argument_that_the_engine_knows(self):
        model, data = self.model, self.rows

        def simulated(what, **option):
            return model.simulate(1, data if what == "responses" else None, what, **option)

        for function, calls in {
            GAM: [lambda **option: GAM("y ~ g", **option).fit(data)],
            GAM.predict: [functools.partial(model.predict, data)],
            GAM.check: [functools.partial(model.check, data)],
            GAM.smooths: [model.smooths],
            GAM.derivatives: [model.derivatives],
            GAM.level_differences: [model.level_differences],
            GAM.differences: [functools.partial(model.differences, data, data)],
            GAM.simulate: [functools.partial(simulated, what) for what in ("responses", "coefficients", "smooths")],
            GAM.plot: [model.smooths],
        }.items():
            options = options_of(function)
            self.assertGreater(len(options), 3, function)
            for option in options:
                refusals = [self.refusal(call, option) for call in calls]
                self.assertTrue(any("no option" not in one for one in refusals), (function, option, refusals))

    def refusal(self, call, option):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(**{option: "?"})
        except TesseraError as refused:
            return str(refused)
        return ""

    def test_others_are_refused_by_python(self):
        for call in (
            lambda: GAM("y ~ x", colour="red"),
            lambda: self.model.predict(self.rows, colour="red"),
            lambda: self.model.smooths(colour="red"),
        ):
            with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'colour'"):
                call()

    def test_those_that_are_not_given_are_the_engine_s(self):
        self.assertEqual(repr(GAM("y ~ x", select=False, sp=None)), "GAM('y ~ x', family='gaussian', select=False)")
        model = GAM("y ~ s(x)", **dict.fromkeys(options_of(GAM))).fit(self.rows)
        self.assertEqual(model.to_json(), GAM("y ~ s(x)").fit(self.rows).to_json())
        found = self.model.predict(self.rows, **dict.fromkeys(options_of(GAM.predict)))
        np.testing.assert_array_equal(found, self.model.predict(self.rows))

    def test_names_of_bam(self):
        self.assertEqual(GAM("y ~ x", nthreads=2).options, {"threads": 2})
        self.assertEqual(GAM("y ~ x", nthreads=2, threads=3).options, {"threads": 3})
        expected = GAM("y ~ x", rho=0.5).fit(self.rows, AR_start="x > 0.9").to_json()
        self.assertEqual(GAM("y ~ x", rho=0.5, AR_start="x > 0.9").fit(self.rows).to_json(), expected)


def options_of(function):
    """The names of the arguments that are engine options."""
    others = {"data", "progress"} | ({"weights", "offset", "subset", "AR_start"} if function is GAM.check else set())
    others |= {"axes", "residuals", "too_far"} if function is GAM.plot else set()
    parameters = inspect.signature(function).parameters.values()
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters)
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.name not in others]


class FittedModel(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.rows = rows()
        cls.model = GAM(FORMULA).fit(cls.rows)

    def test_numbers_agree(self):
        model = self.model
        params, matrix = np.asarray(model.params), model.predict(self.rows, type="lpmatrix")
        self.assertEqual(matrix.shape, (1000, len(params)))
        np.testing.assert_allclose(matrix @ params, model.predict(self.rows), rtol=1e-12)
        self.assertEqual(model.cov.shape, (len(params), len(params)))
        np.testing.assert_allclose(model.cov, model.cov.T, rtol=1e-9)
        both = model.predict(self.rows, se=True)
        np.testing.assert_allclose(np.sqrt(((matrix @ model.cov) * matrix).sum(axis=1)), both["se"], rtol=1e-9)
        self.assertAlmostEqual(np.sum(model.edf), model.edf_total)
        self.assertEqual(len(model.sp), 4)
        self.assertEqual(model.smooth_names, ["s(x):ga", "s(x):gb", "s(x):gc", "s(z)"])
        residuals = self.rows["y"] - both["fit"]
        self.assertAlmostEqual(model.deviance, residuals @ residuals, 9)
        self.assertAlmostEqual(model.deviance_explained, 1 - model.deviance / model.null_deviance)
        self.assertTrue(model.converged)
        self.assertEqual((model.nobs, model.n_dropped), (1000, 0))

    def test_lowercase_aic_is_deprecated(self):
        with self.assertWarnsRegex(DeprecationWarning, "aic_edf_total") as warned:
            found = self.model.aic
        self.assertEqual(warned.filename, __file__)
        self.assertEqual(found, self.model.aic_edf_total)
        df = self.model.edf_total + 1  # and the scale
        self.assertAlmostEqual(found, 2 * df - 2 * self.model.log_likelihood)
        self.assertNotEqual(found, self.model.AIC)

    def test_intervals_of_coefficients(self):
        params, errors = np.asarray(self.model.params), np.sqrt(np.diag(self.model.cov))
        np.testing.assert_array_equal(self.model.bse, errors)
        found = self.model.conf_int(0.9)
        self.assertEqual(list(found), ["lower", "upper"])
        np.testing.assert_allclose(found["lower"], params - 1.6448536269514722 * errors, rtol=1e-12)
        np.testing.assert_allclose(found["upper"], params + 1.6448536269514722 * errors, rtol=1e-12)
        for level in (0, 1, 95, np.nan):
            with self.assertRaisesRegex(UsageError, "a probability"):
                self.model.conf_int(level)

    def test_residuals(self):
        data = self.rows | {"counts": np.round(np.exp(self.rows["y"])), "g": self.rows["g"].astype(object)}
        data["g"][5] = None
        model = GAM("counts ~ g + s(log(x)) + offset(z / 9)", family="poisson").fit(data, weights="w", subset="x < 0.9")
        mu = np.where(data["x"] < 0.9, model.predict(data, type="response"), np.nan)
        y, w = data["counts"], data["w"]
        np.testing.assert_allclose(model.fittedvalues, mu, rtol=1e-12)
        self.assertTrue(np.isnan(model.fittedvalues[5]))
        self.assertEqual(np.isnan(model.resid).sum(), model.n_dropped)
        deviance = 2 * w * (np.where(y > 0, y * np.log(np.maximum(y, 1) / mu), 0) - (y - mu))
        for kind, expected in (
            ("deviance", np.sign(y - mu) * np.sqrt(deviance)),
            ("pearson", (y - mu) * np.sqrt(w / mu)),
            ("response", y - mu),
            ("working", (y - mu) / mu),
        ):
            np.testing.assert_allclose(model.residuals(kind), expected, atol=1e-9)
        np.testing.assert_array_equal(model.residuals(), model.resid)
        self.assertAlmostEqual(np.nansum(model.resid**2), model.deviance, 8)
        copied = pickle.loads(pickle.dumps(model))
        with self.assertRaisesRegex(UsageError, "give them as data="):
            copied.resid  # noqa: B018
        np.testing.assert_array_equal(copied.residuals("deviance", data), model.resid)
        np.testing.assert_array_equal(copied.residuals("deviance", self.write_csv("rows.csv", data)), model.resid)
        with self.assertRaisesRegex(InputError, "give the table that the model was fitted to"):
            copied.residuals("deviance", data | {"counts": y + 1})
        with self.assertRaisesRegex(UsageError, "deviance"):
            model.residuals("student")
        with self.assertRaisesRegex(UsageError, "no residuals of the type pearson"):
            GAM("y ~ s(x)", family="scat(theta=c(4, 0.5))").fit(self.rows).residuals("pearson")

    def test_residuals_of_arrays_beside_the_rows(self):
        w = self.rows["w"]
        model = GAM("y ~ s(x)").fit(self.rows, weights=w, offset=list(self.rows["z"]))
        np.testing.assert_allclose(model.resid, np.sqrt(w) * model.residuals("response"), rtol=1e-12)
        table = model.residuals("all")
        np.testing.assert_array_equal(table["deviance"], model.resid)
        np.testing.assert_array_equal(table["fitted"], model.fittedvalues)
        np.testing.assert_array_equal(table["working_weight"], w)
        np.testing.assert_allclose(model.fittedvalues, model.predict(self.rows) + self.rows["z"], rtol=1e-12)

    @needs("pandas")
    def test_residuals_have_the_labels_of_the_rows(self):
        import pandas as pd

        frame = pd.DataFrame(self.rows, index=np.arange(1000) + 7)
        model = GAM(FORMULA).fit(frame)
        for found in (model.fittedvalues, model.resid, model.residuals("pearson")):
            self.assertTrue(found.index.equals(frame.index))
        np.testing.assert_allclose(model.fittedvalues + model.resid, frame.y, rtol=1e-12)
        self.assertEqual(list(model.conf_int().index), model.param_names)

    def test_terms_add_up(self):
        terms = self.model.predict(self.rows, type="terms")
        total = sum(terms.values()) + np.asarray(self.model.params)[0]
        np.testing.assert_allclose(total, self.model.predict(self.rows), rtol=1e-12)

    def test_copies_are_the_model(self):
        self.model.save(self.folder / "model.json")
        text = self.model.to_json()
        for other in (
            GAM.load(self.folder / "model.json"),
            GAM.from_json(text),
            pickle.loads(pickle.dumps(self.model)),
            copy.deepcopy(self.model),
        ):
            self.assertEqual(other.to_json(), text)
            self.assertEqual(other.formula, FORMULA)
        self.assertEqual(repr(self.model), f"GAM({FORMULA!r}, family='gaussian')")
        self.assertIsNone(pickle.loads(pickle.dumps(GAM("y ~ x")))._model)

    def test_reports(self):
        summary = self.model.summary()
        self.assertIn("Approximate significance of smooth terms", str(summary))
        self.assertEqual([row["term"] for row in summary["smooths"]], self.model.smooth_names)
        self.assertEqual(summary["aic"], self.model.aic_edf_total)
        smaller = GAM("y ~ g + s(x)").fit(self.rows)
        anova = smaller.anova(self.model, test="F")
        self.assertEqual(len(anova["models"]), 2)
        self.assertLess(anova["deviances"][1]["p_value"], 1e-6)
        check = self.model.check(self.rows, permutations=10)
        self.assertEqual([row["term"] for row in check["bases"]], self.model.smooth_names)
        dates = np.full(1000, "2001-12-29", "datetime64[D]")
        self.assertEqual(str(self.model.check(self.rows | {"date": dates}, permutations=10)), str(check))

    def test_reports_in_a_notebook(self):
        spaces = GAM("y ~ s(`a b`) + `<d>`").fit(self.rows | {"a b": self.rows["x"], "<d>": self.rows["z"]})
        smaller = GAM("y ~ g + s(x)").fit(self.rows)
        check = self.model.check(self.rows, permutations=10, autocorrelation=2)
        for report, tables in (
            (self.model.summary(), 2),
            (spaces.summary(), 2),
            (self.model.anova(), 3),
            (smaller.anova(self.model), 2),
            (check, 7),
        ):
            shown = report._repr_html_()
            self.assertEqual(shown.count("<table>"), tables, report)
            self.assertEqual(html.unescape(re.sub("<[^>]*>", " ", shown)).split(), str(report).split())
        shown = self.model.summary()._repr_html_()
        row = self.model.summary()["smooths"][3]
        self.assertIn(f">s(z)</th><td>{row['edf']:.3f}</td><td>{row['df']:.3f}</td>", shown)

    def test_concurvity(self):
        whole = self.model.concurvity(self.rows)
        self.assertEqual(list(whole["term"]), ["para", *self.model.smooth_names])
        pairs = self.model.concurvity(self.rows, full=False)["worst"]
        self.assertEqual(list(pairs["term"]), list(whole["term"]))
        # A term explains itself fully (1); smooths for different levels share no row (0).
        np.testing.assert_array_equal(pairs["s(z)"][4], 1)
        self.assertLess(pairs["s(x):ga"][2], 1e-12)

    def test_smooths_and_their_derivatives(self):
        smooths = self.model.smooths(points=11, draws=0)
        self.assertEqual(len(smooths["fit"]), 44)
        slopes = self.model.derivatives(points=11, draws=0)
        curve = np.asarray(smooths["smooth"]) == "s(z)"
        z, fit = np.asarray(smooths["z"])[curve], np.asarray(smooths["fit"])[curve]
        steps = np.diff(fit) / np.diff(z)
        of_z = np.asarray(slopes["fit"])[np.asarray(slopes["smooth"]) == "s(z)"]
        np.testing.assert_allclose(steps, (of_z[1:] + of_z[:-1]) / 2, atol=0.05)
        pairs = self.model.level_differences(points=5, draws=0)
        self.assertEqual(len(pairs["fit"]), 15)

    def test_draws(self):
        coefficients = self.model.simulate(5, seed=3)
        self.assertEqual(list(coefficients), self.model.param_names)
        responses = self.model.simulate(400, self.rows, seed=3)
        self.assertEqual(list(responses)[:2], ["draw.1", "draw.2"])
        mean = np.mean([np.asarray(responses[name]) for name in responses], axis=0)
        np.testing.assert_allclose(mean, self.model.predict(self.rows), atol=6 * (self.model.scale / 400) ** 0.5)
        again = self.model.simulate(400, self.rows, seed=3)
        np.testing.assert_array_equal(responses["draw.7"], again["draw.7"])

    def test_differences_of_tables(self):
        higher = self.rows | {"z": np.minimum(self.rows["z"] + 0.1, 1)}
        found = self.model.differences(higher, self.rows)
        expected = self.model.predict(higher) - self.model.predict(self.rows)
        np.testing.assert_allclose(found["fit"], expected, atol=1e-12)
        path = self.write_csv("rows.csv", self.rows)
        np.testing.assert_array_equal(self.model.differences(higher, path)["fit"], found["fit"])
        np.testing.assert_array_equal(self.model.differences(path, higher)["fit"], -found["fit"])

    def test_warnings_name_the_caller(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.model.predict(rows(3) | {"g": np.array(["a", "a", "new"])})
            GAM("y ~ s(x)", family="tw", max_iterations=1).fit(self.rows | {"y": self.rows["y"] ** 2})
        self.assertEqual([one.category for one in caught], [TesseraWarning] * 2)
        self.assertEqual({one.filename for one in caught}, {__file__})
        self.assertIn("'new'", str(caught[0].message))

    @needs("matplotlib")
    def test_plots(self):
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        axes = self.model.plot()
        self.assertEqual([axis.get_title() for axis in axes], ["s(x):g", "s(z)"])
        self.assertEqual([len(axis.lines) for axis in axes], [3, 1])
        self.assertEqual(len(axes[1].collections), 2)  # the band and the rug
        given = plt.figure().subplots()
        surface = GAM("y ~ te(x, z, k=4)").fit(self.rows)
        [axis] = surface.plot(axes=given, points=10)
        self.assertIs(axis, given)
        self.assertEqual((axis.get_xlabel(), axis.get_ylabel()), ("x", "z"))
        corner = {name: values[(self.rows["x"] < 0.4) | (self.rows["z"] < 0.4)] for name, values in self.rows.items()}
        [axis] = GAM("y ~ te(x, z, k=4)").fit(corner).plot(points=11)
        drawn = axis.collections[0].get_array()
        np.testing.assert_array_equal(np.ma.getmaskarray(drawn)[[0, 10, 10], [10, 0, 10]], [False, False, True])
        residuals, histogram = self.model.check(self.rows, permutations=5).plot()
        np.testing.assert_allclose(residuals.lines[-1].get_ydata(), residuals.lines[-1].get_xdata(), atol=0.6)
        self.assertAlmostEqual(sum(bar.get_height() * bar.get_width() for bar in histogram.patches), 1)
        with self.assertRaisesRegex(UsageError, r"check\(data\)"):
            self.model.summary().plot()
        with self.assertRaisesRegex(UsageError, "no smooths to plot"):
            GAM("y ~ x").fit(self.rows).plot()
        self.assertEqual(len(self.model.plot("s(z)")), 1)
        effects = GAM("y ~ s(g, bs='re')").fit(self.rows).plot()
        self.assertEqual(len(effects[0].lines[0].get_xdata()), 3)
        plt.close("all")

    @needs("matplotlib")
    def test_plots_of_partial_residuals(self):
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        data = self.rows | {"x": self.rows["x"] + 0.1}
        model = GAM("y ~ g + s(log(x), by=g) + s(z) + s(x, by=w) + te(x, z, k=3)").fit(data, weights="w")
        axes = model.plot(residuals=True, points=20)
        self.assertEqual([len(axis.lines) for axis in axes], [6, 2, 1, 1])  # of a surface its rug
        terms = model.predict(data, type="terms")
        partial = np.sqrt(data["w"]) * model.residuals("response")
        of_b = data["g"] == "b"
        points = axes[0].lines[3]
        np.testing.assert_allclose(points.get_xdata(), np.log(data["x"][of_b]))
        np.testing.assert_allclose(points.get_ydata(), (terms["s(log(x)):gb"] + partial)[of_b], atol=1e-9)
        np.testing.assert_allclose(axes[1].lines[1].get_ydata(), terms["s(z)"] + partial, atol=1e-9)
        model = pickle.loads(pickle.dumps(GAM("y ~ s(z)").fit(data)))
        with self.assertRaisesRegex(UsageError, "its rows"):
            model.plot(residuals=True)
        [axis] = model.plot(residuals=True, data=data)
        self.assertEqual(len(axis.lines[1].get_xdata()), 1000)
        plt.close("all")

    def test_examples_of_docstrings(self):
        failures, tried = doctest.testmod(tessera_gam._gam)
        self.assertEqual(failures, 0)
        self.assertGreater(tried, 0)


if __name__ == "__main__":
    main()
