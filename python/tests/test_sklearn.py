# SPDX-License-Identifier: Apache-2.0
"""The estimators follow scikit-learn's conventions."""

from __future__ import annotations

import inspect
import pickle
import unittest
import warnings

import numpy as np
from support import main, needs, rows

from tessera_gam import GAM


@needs("sklearn")
class Estimators(unittest.TestCase):
    def setUp(self):
        from tessera_gam.sklearn import GAMClassifier, GAMRegressor

        self.regressor, self.classifier = GAMRegressor, GAMClassifier
        self.rows = rows()
        self.X = np.column_stack([self.rows["x"], self.rows["z"]])

    def test_conventions(self):
        from sklearn.utils.estimator_checks import check_estimator

        from tessera_gam.sklearn import EXPECTED_FAILED_CHECKS

        for estimator in (self.regressor(), self.classifier()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = check_estimator(estimator, expected_failed_checks=EXPECTED_FAILED_CHECKS, on_fail=None)
            self.assertGreater(len(results), 30)
            failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
            self.assertEqual(failed, [])

    def test_default_formula(self):
        X = np.column_stack([self.X, np.arange(1000) % 2, np.arange(1000) % 5])
        model = self.regressor().fit(X, self.rows["y"])
        self.assertEqual(model.formula_, ".response ~ s(`x0`, k=10) + s(`x1`, k=10) + `x2` + s(`x3`, k=5)")
        few = self.regressor().fit(self.X[:16], self.rows["y"][:16])
        self.assertEqual(few.formula_, ".response ~ s(`x0`, k=4) + s(`x1`, k=4)")

    @needs("pandas")
    def test_frames_and_formulas(self):
        import pandas as pd

        frame = pd.DataFrame(self.rows)
        model = self.regressor("g + s(x, k=8)").fit(frame[["x", "g"]], frame.y)
        expected = GAM("y ~ g + s(x, k=8)").fit(frame)
        np.testing.assert_array_equal(model.predict(frame[["x", "g"]]), expected.predict(frame))
        np.testing.assert_array_equal(model.feature_names_in_, ["x", "g"])
        self.assertIn("`g`", self.regressor().fit(frame[["x", "g"]], frame.y).formula_)

    @needs("pandas")
    def test_arrays_after_frames_and_frames_after_arrays(self):
        import pandas as pd

        frame = pd.DataFrame(self.rows)[["x", "g", "z"]]
        model = self.regressor("g + s(x) + z").fit(frame, self.rows["y"])
        odd = frame.rename(columns={"x": "a`b"})
        numbers = self.regressor().fit(self.X, self.rows["y"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # scikit-learn warns about names
            np.testing.assert_array_equal(model.predict(frame.to_numpy()), model.predict(frame))
            np.testing.assert_array_equal(numbers.predict(frame[["x", "z"]]), numbers.predict(self.X))
        self.assertIn(r"`a\`b`", self.regressor().fit(odd, self.rows["y"]).formula_)

    def test_left_sides(self):
        expected = self.regressor("s(x0) + x1").fit(self.X, self.rows["y"]).predict(self.X)
        for formula in ("~ s(x0) + x1", "y ~ s(x0) + x1", "`a~b` ~ s(x0) + x1"):
            found = self.regressor(formula).fit(self.X, self.rows["y"])
            np.testing.assert_array_equal(found.predict(self.X), expected)
        for formula in ("log(y) ~ x0", "cbind(a, b) ~ x0", "list(y ~ x0, ~ x1)", "y + 1 ~ x0"):
            with self.assertRaisesRegex(ValueError, "give only the predictors"):
                self.regressor(formula).fit(self.X, self.rows["y"])

    @needs("pandas")
    def test_a_row_with_a_missing_value_has_no_class(self):
        import pandas as pd

        labels = np.where(self.rows["y"] > 0.5, "high", "low")
        frame = pd.DataFrame(self.X, columns=["a", "b"])
        model = self.classifier().fit(frame, labels)
        frame.loc[7, "a"] = np.nan
        self.assertEqual(np.isnan(model.predict_proba(frame)).any(axis=1).nonzero()[0].tolist(), [7])
        with self.assertRaisesRegex(ValueError, "Input X contains NaN: row 7 has no class"):
            model.predict(frame)
        with self.assertRaisesRegex(ValueError, "contains NaN"):
            model.predict(frame.to_numpy())

    def test_pipelines_and_searches(self):
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        search = GridSearchCV(
            make_pipeline(StandardScaler(), self.regressor()), {"gamregressor__formula": ["x0", "s(x0) + x1"]}
        ).fit(self.X, self.rows["y"])
        self.assertEqual(search.best_params_, {"gamregressor__formula": "s(x0) + x1"})
        copied = pickle.loads(pickle.dumps(search))
        np.testing.assert_array_equal(copied.predict(self.X), search.predict(self.X))

    def test_options_are_parameters(self):
        from sklearn.base import clone

        knots, sp = {"x0": [0, 1]}, [0.5]
        for kind in (self.regressor, self.classifier):
            model = kind(knots=knots, sp=sp, select=True)
            copied = clone(model.set_params(gamma=1.4, k=7))
            self.assertIs(model.knots, knots)
            self.assertIs(model.sp, sp)
            self.assertEqual(copied.get_params(), model.get_params())
            self.assertLessEqual(
                {"select": True, "gamma": 1.4, "k": 7, "knots": knots}.items(), copied.get_params().items()
            )
            of_text = {"sep", "dec", "comment", "header", "skip"}
            of_tables_and_bam = of_text | {"na_strings", "factor", "numeric", "date", "block_rows", "nthreads"}
            of_gam = {*inspect.signature(GAM).parameters} - of_tables_and_bam
            self.assertEqual({*kind().get_params()}, of_gam | {"k"})
        y = self.rows["y"]
        terms = "s(x0, bs='cc', k=6) + x1"
        model = self.regressor(terms, knots=knots, select=True, gamma=1.4).fit(self.X, y)
        expected = GAM(f"y ~ {terms}", knots=knots, select=True, gamma=1.4).fit(
            {"x0": self.X[:, 0], "x1": self.X[:, 1], "y": y}
        )
        np.testing.assert_array_equal(model.gam_.params, expected.params)
        with self.assertRaisesRegex(TypeError, "options"):
            self.regressor(options={"select": True})

    def test_a_search_over_options(self):
        from sklearn.model_selection import GridSearchCV

        grid = {"gamma": [1, 1.4], "select": [None, True], "k": [3, 8]}
        search = GridSearchCV(self.regressor(), grid, cv=3, error_score="raise").fit(self.X, self.rows["y"])
        scores = search.cv_results_["mean_test_score"]
        self.assertEqual((len(scores), len({*scores})), (8, 8))  # each parameter affects the fit
        self.assertEqual(search.best_params_["k"], 8)
        self.assertEqual(search.best_estimator_.formula_, ".response ~ s(`x0`, k=8) + s(`x1`, k=8)")

    def test_k_is_of_smooths_without_a_formula(self):
        for k in (2, 5.5, "10"):
            with self.assertRaisesRegex(ValueError, "give a whole number, 3 or more"):
                self.regressor(k=k).fit(self.X, self.rows["y"])
        with self.assertRaisesRegex(ValueError, "a formula, which sets k itself"):
            self.regressor("s(x0)", k=5).fit(self.X, self.rows["y"])
        few = self.regressor(k=np.int64(20)).fit(self.X[:16], self.rows["y"][:16])
        self.assertEqual(few.formula_, ".response ~ s(`x0`, k=4) + s(`x1`, k=4)")

    def test_classes(self):
        labels = np.where(self.rows["y"] > 0.5, "high", "low")
        model = self.classifier().fit(self.X, labels)
        self.assertGreater(model.score(self.X, labels), 0.7)
        proba = model.predict_proba(self.X)
        np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(self.X))


if __name__ == "__main__":
    main()
