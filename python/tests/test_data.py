# SPDX-License-Identifier: Apache-2.0
"""Data of every kind make the same model, and predictions come back in that kind."""

from __future__ import annotations

import unittest.mock

import numpy as np
from support import FORMULA, InFolder, main, needs, rows

from tessera_gam import GAM, InputError, UsageError, _native


class KindsOfData(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.rows = rows()
        cls.expected = GAM(FORMULA).fit(cls.rows)
        cls.fit = cls.expected.predict(cls.rows)

    def expect_same(self, data):
        self.assertEqual(GAM(FORMULA).fit(data).to_json(), self.expected.to_json())

    def test_numpy(self):
        self.expect_same({name: list(values) for name, values in self.rows.items()})
        self.expect_same({name: values[::-1][::-1] for name, values in self.rows.items()})
        self.expect_same(self.rows | {"g": self.rows["g"].astype(object)})
        self.expect_same(self.rows | {"g": self.rows["g"].astype("S1")})
        self.expect_same(np.rec.fromarrays(list(self.rows.values()), names=list(self.rows)))

    def test_a_single_value_is_that_of_every_row(self):
        two = {"x": [0.1, 0.9], "g": "b", "z": 0.5}
        whole = two | {"g": ["b"] * 2, "z": [0.5] * 2}
        np.testing.assert_array_equal(self.expected.predict(two), self.expected.predict(whole))
        one = self.expected.predict({"x": 0.1, "g": np.str_("b"), "z": np.float64(0.5)})
        np.testing.assert_array_equal(one, self.expected.predict(two)[:1])

    def test_a_point_stands_for_all_other_columns(self):
        expected = GAM("y ~ x + z + g + w").fit(self.rows, weights=self.rows["w"]).to_json()
        path = self.write_csv("rows.csv", self.rows)
        for data, options in (
            (self.rows, {}),
            (self.rows, {"launcher": "env", "workdir": self.folder, "program": self.tessera_fit()}),
        ):
            model = GAM("y ~ .").fit(data, weights=self.rows["w"], **options)
            self.assertEqual(model.to_json().replace(".weights", "w"), expected.replace(".weights", "w"))
            self.assertEqual(len(model.predict(data)), 1000)
        self.assertEqual(GAM("y ~ .").fit(path).param_names, model.param_names)
        with self.assertRaisesRegex(InputError, "the column 'c' is of type complex"):
            GAM("y ~ .").fit(self.rows | {"c": 1j * self.rows["x"]})

    def test_files(self):
        path = self.write_csv("rows.csv", self.rows)
        self.expect_same(path)
        np.testing.assert_array_equal(self.expected.predict(str(path)), self.fit)

    @needs("h5py")
    def test_hdf5(self):
        path = self.folder / "rows.h5"
        self.tessera_fit("convert", self.write_csv("rows.csv", self.rows), path)
        self.expect_same(path)
        with unittest.mock.patch.object(_native, "reads_hdf5", lambda: False):
            self.expect_same(path)
            np.testing.assert_array_equal(self.expected.predict(path), self.fit)

    @needs("h5py")
    def test_hdf5_by_h5py(self):
        import h5py

        path = self.folder / "rows.h5"
        with h5py.File(path, "w") as file:
            file["x"], file["y"], file["matrix"] = self.rows["x"], self.rows["y"], np.zeros((2, 2))
            file["g"] = np.where(self.rows["g"] == "c", "NA", self.rows["g"]).astype(object)
            file.create_dataset("bad", data=np.full(1000, 7), dtype=h5py.enum_dtype({"a": 1}))
        with unittest.mock.patch.object(_native, "reads_hdf5", lambda: False):
            expected = GAM("y ~ g + s(x)").fit(self.rows, subset="g != 'c'")
            model = GAM("y ~ g + s(x)").fit(path)
            np.testing.assert_array_equal(model.params, expected.params)
            self.assertEqual(model.n_dropped, (self.rows["g"] == "c").sum())
            with self.assertRaisesRegex(InputError, "'bad' is no member"):
                GAM("y ~ bad").fit(path)
            with self.assertRaisesRegex(InputError, "none.h5"):
                GAM("y ~ x").fit(self.folder / "none.h5")

    @needs("pandas")
    def test_pandas(self):
        import pandas as pd

        frame = pd.DataFrame(self.rows, index=np.arange(1000) + 7)
        self.expect_same(frame)
        self.expect_same(frame.astype({"g": "category"}))
        self.expect_same(frame.astype({"g": object}))
        self.expect_same(frame.convert_dtypes())
        fit = self.expected.predict(frame)
        self.assertIsInstance(fit, pd.Series)
        self.assertTrue(fit.index.equals(frame.index))
        np.testing.assert_array_equal(fit, self.fit)
        both = self.expected.predict(frame, se=True, keep="g")
        self.assertEqual(list(both.columns), ["fit", "se", "g"])
        self.assertTrue(both.index.equals(frame.index))
        self.assertEqual(both.g.astype(str).tolist(), self.rows["g"].tolist())

    @needs("pandas")
    def test_categories_of_pandas_are_levels_in_their_order(self):
        import pandas as pd

        frame = pd.DataFrame(self.rows)
        frame["g"] = pd.Categorical(frame.g, ["c", "a", "b", "unused"])
        model = GAM("y ~ g").fit(frame)
        self.assertEqual(model.param_names, ["(Intercept)", "ga", "gb"])
        self.assertEqual(model.to_json(), GAM("y ~ g", levels={"g": ["c", "a", "b"]}).fit(self.rows).to_json())
        self.assertEqual(GAM("y ~ factor(g)").fit(frame).param_names[1:], ["factor(g)a", "factor(g)b"])
        # Levels of new data have their texts, whatever their order.
        np.testing.assert_array_equal(model.predict(frame), model.predict(self.rows))

    @needs("pandas")
    def test_ordered_categorical_of_pandas(self):
        import pandas as pd

        frame = pd.DataFrame(self.rows)
        frame["g"] = pd.Categorical(frame.g, ["b", "a", "c"], ordered=True)
        model = GAM("y ~ g").fit(frame)
        self.assertEqual(model.param_names, ["(Intercept)", "g.L", "g.Q"])
        self.assertEqual(model.to_json(), GAM("y ~ g", ordered={"g": ["b", "a", "c"]}).fit(self.rows).to_json())

    @needs("polars")
    def test_polars(self):
        import polars as pl

        frame = pl.DataFrame({name: values.tolist() for name, values in self.rows.items()})
        self.expect_same(frame)
        self.expect_same(frame.lazy())
        self.expect_same(frame.with_columns(pl.col("g").cast(pl.Categorical)))
        self.expect_same(frame.with_columns(pl.col("g").cast(pl.Enum(["a", "b", "c"]))))
        of_enum = GAM("y ~ g").fit(frame.with_columns(pl.col("g").cast(pl.Enum(["b", "c", "a"]))))
        self.assertEqual(of_enum.param_names, ["(Intercept)", "gc", "ga"])
        fit = self.expected.predict(frame)
        self.assertIsInstance(fit, pl.Series)
        np.testing.assert_array_equal(fit.to_numpy(), self.fit)
        self.assertEqual(self.expected.predict(frame, keep="g")["g"].to_list(), self.rows["g"].tolist())

    @needs("pyarrow")
    def test_arrow_and_parquet(self):
        import pyarrow as pa
        import pyarrow.parquet as parquet

        table = pa.table({name: pa.array(values.tolist()) for name, values in self.rows.items()})
        self.expect_same(table)
        self.expect_same(table.set_column(2, "g", table["g"].dictionary_encode()))
        parquet.write_table(table, self.folder / "rows.parquet")
        self.expect_same(self.folder / "rows.parquet")
        fit = self.expected.predict(table)
        self.assertIsInstance(fit, pa.Array)
        np.testing.assert_array_equal(fit.to_numpy(), self.fit)

    def test_numbers_of_other_types(self):
        whole = {"x": np.arange(200), "y": np.arange(200) % 7}
        expected = GAM("y ~ s(x)").fit({name: values.astype(float) for name, values in whole.items()})
        for kind in (np.int32, np.uint8, np.float32):
            other = GAM("y ~ s(x)").fit({name: values.astype(kind) for name, values in whole.items()})
            self.assertEqual(other.to_json(), expected.to_json(), kind)

    def test_truth_values(self):
        data = self.rows | {"high": self.rows["y"] > 0.5}
        model = GAM("high ~ s(x)", family="binomial").fit(data)
        numbers = GAM("high ~ s(x)", family="binomial").fit(data | {"high": data["high"].astype(float)})
        np.testing.assert_array_equal(model.params, numbers.params)
        self.assertIn("highTRUE", GAM("y ~ high").fit(data).param_names)

    @needs("pandas")
    def test_missing_truth_values(self):
        import pandas as pd

        high = pd.array(self.rows["y"] > 0.5, dtype="boolean")
        high[3] = None
        for values in (high, high.astype(object)):
            self.assertEqual(GAM("y ~ high").fit(pd.DataFrame(self.rows).assign(high=values)).n_dropped, 1)

    def test_arguments_as_columns_expressions_and_arrays(self):
        chosen = self.rows["x"] > 0.3
        model = GAM(FORMULA).fit(self.rows, weights="w", offset="z", subset="x > 0.3")
        other = GAM(FORMULA).fit(self.rows, weights=self.rows["w"], offset=list(self.rows["z"]), subset=chosen)
        np.testing.assert_array_equal(model.params, other.params)
        self.assertEqual(model.nobs, chosen.sum())
        other.check(self.rows, weights=self.rows["w"], offset=self.rows["z"], subset=chosen)


class MissingValues(InFolder):
    def setUp(self):
        super().setUp()
        self.rows = rows()
        self.rows["g"] = self.rows["g"].astype(object)
        self.rows["x"][3] = self.rows["y"][7] = np.nan
        self.rows["g"][5] = None

    def expect(self, data):
        model = GAM(FORMULA).fit(data)
        self.assertEqual((model.nobs, model.n_dropped), (997, 3))
        fit = np.asarray(model.predict(data))
        self.assertEqual(np.flatnonzero(np.isnan(fit)).tolist(), [3, 5])
        return model

    def test_numpy(self):
        model = self.expect(self.rows)
        masks = {name: np.zeros(1000, bool) for name in ("x", "y")}
        masks["x"][3] = masks["y"][7] = True
        masked = {name: np.ma.MaskedArray(np.where(mask, 0, self.rows[name]), mask) for name, mask in masks.items()}
        self.assertEqual(self.expect(self.rows | masked).to_json(), model.to_json())

    def test_file(self):
        self.expect(self.write_csv("rows.csv", self.rows))

    @needs("pandas")
    def test_pandas(self):
        import pandas as pd

        frame = pd.DataFrame(self.rows)
        for data in (frame, frame.convert_dtypes(), frame.astype({"g": "category"})):
            self.expect(data)

    @needs("polars")
    def test_polars(self):
        import polars as pl

        self.expect(pl.DataFrame({name: values.tolist() for name, values in self.rows.items()}))
        self.expect(pl.DataFrame({name: [None if v != v else v for v in c.tolist()] for name, c in self.rows.items()}))

    @needs("pyarrow")
    def test_arrow(self):
        import pyarrow as pa

        self.expect(pa.table({name: [None if v != v else v for v in c.tolist()] for name, c in self.rows.items()}))


class Refusals(InFolder):
    def expect(self, kind, words, call):
        with self.assertRaises(kind) as raised:
            call()
        self.assertIn(words, str(raised.exception))
        self.assertNotIn("\n", str(raised.exception))
        return raised.exception

    def test_what_is_wrong_is_named(self):
        data = rows(50)
        self.expect(UsageError, "data are a list", lambda: GAM("y ~ x").fit([1, 2]))
        self.expect(InputError, "'q'", lambda: GAM("y ~ q").fit(data))
        self.expect(InputError, "no such file", lambda: GAM("y ~ x").fit(self.folder / "none.parquet"))
        self.expect(InputError, "none.csv", lambda: GAM("y ~ x").fit(self.folder / "none.csv"))
        self.expect(UsageError, "gamma", lambda: GAM("y ~ x", gama=2).fit(data))
        self.expect(UsageError, "'y' has 49 rows", lambda: GAM("y ~ x").fit(data | {"y": data["y"][1:]}))
        self.expect(UsageError, "'.weights' has 1 rows", lambda: GAM("y ~ x").fit(data, weights=[1]))
        self.expect(InputError, "complex", lambda: GAM("y ~ x").fit(data | {"x": data["x"] * 1j}))
        self.expect(InputError, "2 dimensions", lambda: GAM("y ~ x").fit(data | {"x": np.ones((50, 2))}))
        self.expect(
            InputError, "datetime64", lambda: GAM("y ~ x").fit(data | {"x": np.full(50, np.datetime64(1, "D"))})
        )
        self.expect(UsageError, "not fitted", lambda: GAM("y ~ x").predict(data))

    def test_a_formula_shows_its_fault(self):
        fault = self.expect(UsageError, "'(' is not closed", lambda: GAM("y ~ s(x").fit(rows(50)))
        self.assertEqual(fault.position, 5)
        self.assertIn("y ~ s(x\n       ^", fault.__notes__[0])


if __name__ == "__main__":
    main()
