# SPDX-License-Identifier: Apache-2.0
"""Data of every kind give the same model, and predictions are of the same kind as the data."""

from __future__ import annotations

import os
import re
import unittest.mock

import numpy as np
from support import FORMULA, InFolder, main, needs, rows

from tessera_gam import GAM, InputError, TesseraWarning, UsageError, _native, columns


class KindsOfData(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.rows = rows()
        cls.expected = GAM(FORMULA).fit(cls.rows)
        cls.fit = cls.expected.predict(cls.rows)

    def expect_same(self, data):
        self.assertEqual(GAM(FORMULA).fit(data).to_json(), self.expected.to_json())

    @needs("pandas")
    def test_levels_that_are_intervals(self):
        import pandas as pd

        frame = pd.DataFrame(self.rows).assign(part=pd.cut(self.rows["x"], [0, 0.3, 0.6, 1]))
        model = GAM("y ~ part").fit(frame)
        self.assertEqual(model.param_names, ["(Intercept)", "part.L", "part.Q"])
        texts = self.rows | {"part": frame["part"].astype(str)}
        levels = {"part": [*frame["part"].cat.categories.astype(str)]}
        self.assertEqual(model.to_json(), GAM("y ~ part", ordered=levels).fit(texts).to_json())
        self.assertEqual(GAM("y ~ part", levels=levels).fit(texts).param_names[1], "part(0.3, 0.6]")
        np.testing.assert_array_equal(model.predict(texts), model.predict(frame))

    def test_dates_of_a_file(self):
        days = np.arange("2020-02-20", "2020-05-30", dtype="datetime64[D]")
        numbers = {"y": np.sin(np.arange(100) / 9), "day": days.astype(np.int64)}
        path = self.write_csv("days.csv", {**numbers, "day": days.astype(str)})
        with self.assertRaisesRegex(InputError, "line 2: the column 'day' holds the text '2020-02-20', but"):
            GAM("y ~ s(day, k=5)").fit(path)
        model = GAM("y ~ s(day, k=5)", date="day").fit(path)
        expected = GAM("y ~ s(day, k=5)").fit(self.write_csv("numbers.csv", numbers))
        np.testing.assert_array_equal(model.params, expected.params)
        np.testing.assert_array_equal(model.predict(path), expected.predict(numbers))

    def test_columns_are_described(self):
        path = self.write_csv("rows.csv", {**self.rows, "day": np.full(1000, "2020-02-20")})
        found = columns(path, date="day", threads=1)
        self.assertEqual(found["rows"], 1000)
        self.assertEqual([one["name"] for one in found["columns"]], [*self.rows, "day"])
        by_name = {one["name"]: one for one in found["columns"]}
        self.assertEqual(by_name["g"]["first_levels"], ["a", "b", "c"])
        self.assertEqual(by_name["day"]["unit"], "days since 1970-01-01")
        self.assertIn("3 levels: a, b, c", found.text)
        self.assertEqual(columns(path, "x")["columns"], [by_name["x"]])
        self.assertEqual(columns(self.rows, ["x"])["columns"], [by_name["x"]])
        with self.assertRaisesRegex(InputError, "unknown column 'q'"):
            columns(path, ["q"])
        with self.assertRaisesRegex(InputError, "unknown column 'q'.*; it has: x, z, g, w, y"):
            columns(self.rows, "q")
        self.assertEqual([*found.frame("columns")["name"]], [*by_name])

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

    def test_names_of_files_that_are_no_text(self):
        name = self.folder / os.fsdecode(b"\xfe.csv")
        self.write_csv("rows.csv", self.rows).rename(name)
        self.expect_same(name)
        self.expected.save(name.with_suffix(".json"))
        self.assertEqual(GAM.load(name.with_suffix(".json")).to_json(), self.expected.to_json())
        with self.assertRaisesRegex(InputError, r"\\xfe.none"):
            GAM.load(name.with_suffix(".none"))

    def test_names_of_columns_in_backticks(self):
        odd = {"y": self.rows["y"], "a`b": self.rows["x"], "a\\b": self.rows["z"], "a~b": self.rows["w"]}
        model = GAM(r"y ~ s(`a\`b`, k=5) + `a\\b` + `a~b`").fit(odd)
        expected = GAM("y ~ s(x, k=5) + z + w").fit(self.rows)
        np.testing.assert_array_equal(model.params, expected.params)
        self.assertEqual(GAM("y ~ x", subset="g != 'a`b' & z > 0.5").fit(self.rows).nobs, (self.rows["z"] > 0.5).sum())

    def test_no_rows(self):
        none = {name: values[:0] for name, values in self.rows.items()}
        self.assertEqual(self.expected.predict(none).shape, (0,))
        p = len(self.expected.param_names)
        self.assertEqual(self.expected.predict(none, type="lpmatrix").shape, (0, p))
        self.assertEqual({len(one) for one in self.expected.predict(none, type="terms").values()}, {0})
        self.assertEqual(len(self.expected.differences(none, none)["fit"]), 0)
        self.assertEqual(self.expected.predict({"x": [], "g": [], "z": []}).shape, (0,))

    @needs("pandas")
    def test_no_rows_of_pandas(self):
        import pandas as pd

        none = pd.DataFrame(self.rows).head(0)
        self.assertTrue(self.expected.predict(none).index.equals(none.index))
        both = self.expected.predict(none, se=True, keep="g")
        self.assertEqual((both.shape, list(both.columns)), ((0, 3), ["fit", "se", "g"]))
        self.assertEqual(self.expected.simulate(2, none).shape, (0, 2))

    def test_files(self):
        path = self.write_csv("rows.csv", self.rows)
        self.expect_same(path)
        np.testing.assert_array_equal(self.expected.predict(str(path)), self.fit)

    def test_folders_and_several_files(self):
        folder = self.folder / "folder"
        parts = []
        for part, (begin, end) in enumerate(((0, 400), (400, 401), (401, 1000))):
            path = folder / f"g{part}" / "rows.csv"
            path.parent.mkdir(parents=True)
            self.write_csv("part.csv", {name: values[begin:end] for name, values in self.rows.items()}).rename(path)
            parts.append(path)
        self.expect_same(folder)
        self.expect_same(parts)
        np.testing.assert_array_equal(self.expected.predict([str(path) for path in parts]), self.fit)
        launched = GAM(FORMULA).fit(parts, launcher="env", workdir=self.folder, program=self.tessera_fit())
        self.assertEqual(launched.to_json(), self.expected.to_json())
        with self.assertRaisesRegex(InputError, "other.csv: has no column 'z', unlike"):
            GAM("y ~ x").fit([parts[0], self.write_csv("other.csv", {"x": self.rows["x"]})])

    @needs("pyarrow")
    def test_folders_of_arrow_files(self):
        import pyarrow as pa
        import pyarrow.feather as feather
        import pyarrow.parquet as parquet

        for write, ending in ((parquet.write_table, "parquet"), (feather.write_feather, "feather")):
            folder = self.folder / ending
            parts = []
            for value in np.unique(self.rows["g"]):
                path = folder / f"g={value}" / f"rows.{ending}"
                path.parent.mkdir(parents=True)
                parts.append({name: values[self.rows["g"] == value] for name, values in self.rows.items()})
                write(pa.table({name: values for name, values in parts[-1].items() if name != "g"}), path)
            (folder / "_SUCCESS").touch()
            rows = {name: np.concatenate([part[name] for part in parts]) for name in self.rows}
            self.assertEqual(GAM(FORMULA).fit(folder).to_json(), GAM(FORMULA).fit(rows).to_json())

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
            with self.assertRaisesRegex(InputError, "'bad' is not a member"):
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
        # Levels are matched by text, in whatever order new data have them.
        np.testing.assert_array_equal(model.predict(frame), model.predict(self.rows))

    @needs("pandas")
    def test_ordered_categorical_of_pandas(self):
        import pandas as pd

        frame = pd.DataFrame(self.rows)
        frame["g"] = pd.Categorical(frame.g, ["b", "a", "c"], ordered=True)
        model = GAM("y ~ g").fit(frame)
        self.assertEqual(model.param_names, ["(Intercept)", "g.L", "g.Q"])
        self.assertEqual(model.to_json(), GAM("y ~ g", ordered={"g": ["b", "a", "c"]}).fit(self.rows).to_json())

    @needs("pandas")
    def test_categories_that_are_numbers(self):
        import pandas as pd

        frame = pd.DataFrame(self.rows)
        for numbers, texts in (
            ([9007199254740993, 9007199254740992, 1], ["9007199254740992", "1"]),
            ([0.1, 0.1 + 2**-55, 1e20], ["0.10000000000000003", "1e+20"]),
            ([10, 200000, 10**15], ["200000", "1e+15"]),
        ):
            frame["n"] = pd.Categorical.from_codes(np.arange(1000) % 3, numbers)
            self.assertEqual(GAM("y ~ n").fit(frame).param_names[1:], [f"n{text}" for text in texts])

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

    @needs("pyarrow")
    def test_files_of_one_table_have_the_same_columns(self):
        import pyarrow as pa
        import pyarrow.feather as feather
        import pyarrow.parquet as parquet

        numbers, texts = pa.array([1.0, 2.0]), pa.array(["1", "2"])
        first, second = self.folder / "of=1" / "a.parquet", self.folder / "of=2" / "b.parquet"
        for file in (first, second):
            file.parent.mkdir(exist_ok=True)
        parquet.write_table(pa.table({"x": numbers}), first)
        for other, words in (
            ({"z": numbers}, f"has no column 'x', unlike {first}"),
            ({"x": texts}, f"the column 'x' holds texts, but numbers in {first}"),
            ({"x": numbers, "z": numbers}, f"has the column 'z', unlike {first}"),
        ):
            parquet.write_table(pa.table(other), second)
            with self.assertRaisesRegex(InputError, re.escape(f"{second}: {words}")):
                columns([first, second])
        parquet.write_table(pa.table({"x": pa.array([3, 4])}), second)
        self.assertEqual(columns([first, second])["rows"], 4)
        feather.write_feather(pa.table({"x": numbers}), self.folder / "old.feather", version=1)
        with self.assertRaisesRegex(InputError, "is a Feather file of version 1: python3"):
            columns(self.folder / "old.feather")

    @needs("pyarrow")
    def test_dates_of_files_are_days_and_times_seconds(self):
        import pyarrow as pa
        import pyarrow.parquet as parquet

        days = pa.array([0, 18_262, None], pa.int32())
        parquet.write_table(
            pa.table({"day": days.cast(pa.date32()), "time": pa.array([0, 1500, None], pa.timestamp("ms", "UTC"))}),
            self.folder / "dates.parquet",
        )
        day, time = columns(self.folder / "dates.parquet")["columns"]
        self.assertEqual((day["greatest"], day["missing"], time["greatest"]), (18_262, 1, 1.5))

    @needs("pandas")
    def test_columns_tells_what_it_leaves_out(self):
        import pandas as pd

        frame = pd.DataFrame({"x": [1.0, 2.0], "when": pd.date_range("2020-01-01", periods=2)})
        with self.assertWarnsRegex(TesseraWarning, "left out: .*'when'"):
            self.assertEqual([one["name"] for one in columns(frame)["columns"]], ["x"])
        with self.assertRaisesRegex(InputError, "the data have no rows"):
            columns(frame[:0])

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

    def test_truth_values_in_expressions_are_numbers(self):
        data = self.rows | {"high": self.rows["z"] > 0.5}
        numbers = data | {"high": data["high"].astype(float)}
        for formula in ("y ~ I(high * x) + z", "y ~ s(I(x + high), k=5)", "I(y * (1 + high)) ~ x + offset(high / 2)"):
            model, expected = GAM(formula).fit(data), GAM(formula).fit(numbers)
            np.testing.assert_array_equal(model.params, expected.params)
            for other in (model, GAM.from_json(model.to_json())):
                np.testing.assert_array_equal(other.predict(data), expected.predict(numbers))
            np.testing.assert_array_equal(model.resid, expected.resid)
        both = GAM("y ~ high + I(high * x)").fit(data)
        self.assertEqual(both.param_names, ["(Intercept)", "highTRUE", "I(high * x)"])
        path = self.write_csv("rows.csv", data | {"high": np.where(data["high"], "TRUE", "FALSE")})
        np.testing.assert_array_equal(both.predict(path), both.predict(data))
        with self.assertRaisesRegex(InputError, r"I\(g \* x\) needs numbers"):
            GAM("y ~ I(g * x)").fit(data)

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


class Labels(InFolder):
    """A Series is matched by its labels, as in pandas."""

    @needs("pandas")
    def test_series_beside_a_frame(self):
        import pandas as pd

        data = pd.DataFrame(rows(), index=np.arange(1000) * 3)
        order = np.random.default_rng(2).permutation(1000)
        for name, values in (("weights", data.w), ("offset", data.z), ("subset", data.z > 0.4)):
            expected = GAM(FORMULA).fit(data, **{name: values.to_numpy()}).to_json()
            self.assertEqual(GAM(FORMULA).fit(data, **{name: values.iloc[order]}).to_json(), expected)
            model = GAM(FORMULA).fit(data, **{name: values})
            np.testing.assert_array_equal(
                model.concurvity(data, **{name: values.iloc[order]})["worst"],
                model.concurvity(data, **{name: values})["worst"],
            )
            for other in (values.iloc[1:], values.reset_index(drop=True), values.iloc[[*range(999), 0]]):
                with self.assertRaisesRegex(InputError, f"the labels of '{name}' are not those"):
                    GAM(FORMULA).fit(data, **{name: other})

    @needs("pandas")
    def test_series_in_a_dict(self):
        import pandas as pd

        data = pd.DataFrame(rows())
        expected = GAM("y ~ s(x)").fit(data.iloc[::-1], weights=data.w).to_json()
        mixed = {"y": data.y.iloc[::-1], "x": data.x.sample(frac=1, random_state=1)}
        self.assertEqual(GAM("y ~ s(x)").fit(mixed, weights=data.w).to_json(), expected)
        with self.assertRaisesRegex(InputError, "the labels of 'x'"):
            GAM("y ~ s(x)").fit({"y": data.y, "x": data.x.iloc[1:]})

    def test_arrays_go_by_position(self):
        data = rows()
        self.assertEqual(GAM("y ~ x").fit(data, weights=list(data["w"])).nobs, 1000)


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

    def test_masks_of_texts_and_objects(self):
        data = rows(300)
        mask = data["x"] > 0.5
        texts = np.where(mask, "only where it is masked", data["g"])
        expected = GAM("y ~ g", drop_unused_levels=False).fit(data | {"g": np.where(mask, None, data["g"])}).to_json()
        for kind in (str, object, "S"):
            masked = data | {"g": np.ma.MaskedArray(texts.astype(kind), mask)}
            self.assertEqual(GAM("y ~ g", drop_unused_levels=False).fit(masked).to_json(), expected)
        masked = np.ma.MaskedArray(data["x"].astype(object), mask)
        self.assertEqual(GAM("y ~ x").fit(data | {"x": masked}).nobs, 300 - mask.sum())
        self.assertEqual(GAM("y ~ x").fit(data | {"x": masked.tolist()}).nobs, 300 - mask.sum())
        record = np.ma.MaskedArray(np.rec.fromarrays([data["x"], data["y"]], names=["x", "y"]))
        record["x"][mask] = np.ma.masked
        self.assertEqual(GAM("y ~ x").fit(record).nobs, 300 - mask.sum())
        self.assertTrue(np.isnan(GAM("y ~ x").fit(data).predict({"x": np.ma.masked})).all())

    def test_what_is_missing_in_a_list(self):
        data = rows(300)
        texts = [np.nan if level == "a" else str(level) for level in data["g"]]
        self.assertEqual(GAM("y ~ g").fit(data | {"g": texts}).param_names, ["(Intercept)", "gc"])
        truths = [None if level == "a" else bool(level == "b") for level in data["g"]]
        truths[0] = np.nan
        model = GAM("y ~ g").fit(data | {"g": truths})
        self.assertEqual(
            (model.param_names[1], model.n_dropped), ("gTRUE", sum(one in (None, truths[0]) for one in truths))
        )
        with self.assertRaisesRegex(InputError, "of type object, with float, str"):
            GAM("y ~ g").fit(data | {"g": ["1", *data["x"][1:].tolist()]})

    def test_new_rows_without_any_value(self):
        model = GAM(FORMULA).fit(rows())
        for none in ([None] * 3, [np.nan] * 3, np.full(3, None)):
            self.assertTrue(np.isnan(model.predict(rows(3) | {"g": none})).all())

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


class InfiniteValues(InFolder):
    """A row with a missing value has no prediction; the other rows do."""

    def test_predictions(self):
        data, new = rows(), rows(20, seed=2)
        infinite = {name: values.copy() for name, values in new.items()}
        infinite["x"][3], infinite["x"][5], infinite["z"][7], infinite["w"][9] = np.inf, -np.inf, 0, np.inf
        for formula, left_out in (
            (FORMULA, [3, 5]),
            ("y ~ x + s(z, k=5)", [3, 5]),
            ("y ~ s(log(z), k=5)", [7]),
            ("y ~ g + log(z) + I(x * 2)", [3, 5, 7]),
            ("y ~ te(x, z, k=4)", [3, 5]),
        ):
            model = GAM(formula).fit(data)
            for options in ({}, {"type": "response"}, {"se": True}):
                found, expected = model.predict(infinite, **options), model.predict(new, **options)
                found, expected = (one if isinstance(one, dict) else {"fit": one} for one in (found, expected))
                for name, values in found.items():
                    self.assertEqual(np.flatnonzero(np.isnan(values)).tolist(), left_out, formula)
                    kept = np.delete(np.arange(20), [*left_out, 7])  # z is another number in row 7
                    np.testing.assert_array_equal(values[kept], expected[name][kept])
            self.assertEqual(np.isnan(model.simulate(1, infinite)["draw.1"]).nonzero()[0].tolist(), left_out)
        path = self.write_csv("new.csv", infinite)
        np.testing.assert_array_equal(model.predict(path), model.predict(infinite))

    def test_fits_refuse_them(self):
        data = rows()
        data["x"][3] = np.inf
        with self.assertRaisesRegex(InputError, "row 4: x is infinite"):
            GAM("y ~ x").fit(data)


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
        self.expect(TypeError, "gama", lambda: GAM("y ~ x", gama=2).fit(data))
        self.expect(UsageError, "'y' has 49 rows", lambda: GAM("y ~ x").fit(data | {"y": data["y"][1:]}))
        self.expect(UsageError, "'.weights' has 1 rows", lambda: GAM("y ~ x").fit(data, weights=[1]))
        self.expect(InputError, "complex", lambda: GAM("y ~ x").fit(data | {"x": data["x"] * 1j}))
        self.expect(InputError, "2 dimensions", lambda: GAM("y ~ x").fit(data | {"x": np.ones((50, 2))}))
        self.expect(
            InputError, "datetime64", lambda: GAM("y ~ x").fit(data | {"x": np.full(50, np.datetime64(1, "D"))})
        )
        self.expect(UsageError, "not fitted", lambda: GAM("y ~ x").predict(data))

    def test_kinds_that_are_no_table(self):
        data = rows(50)
        model = GAM("y ~ s(x, k=5)").fit(data)
        self.expect(UsageError, "data are a ndarray", lambda: model.predict(np.ones((3, 1))))
        self.expect(InputError, "'x' has 2 dimensions", lambda: model.predict({"x": [[1.0, 2.0], [3.0, 4.0]]}))
        self.expect(InputError, "'x' cannot be an array", lambda: model.predict({"x": [[1.0], [3.0, 4.0]]}))
        self.expect(InputError, "'weights' is a single float", lambda: GAM("y ~ x").fit(data, weights=2.0))
        self.expect(InputError, "not UTF-8", lambda: GAM("y ~ g").fit(data | {"g": data["g"].astype("S") + b"\xe9"}))
        self.expect(InputError, "the data have no rows", lambda: GAM("y ~ x").fit({"x": [], "y": []}))
        self.expect(InputError, "the data have no rows", lambda: model.check({"x": [], "y": []}))

    @needs("pandas")
    def test_kinds_of_pandas_that_are_no_table(self):
        import pandas as pd

        frame = pd.DataFrame(rows(50))
        model = GAM("y ~ s(x, k=5)").fit(frame)
        self.expect(UsageError, "as series.to_frame()", lambda: model.predict(frame.iloc[0]))
        self.expect(InputError, "'weights' is of type DataFrame", lambda: GAM("y ~ x").fit(frame, weights=frame[["w"]]))
        frame.columns = pd.MultiIndex.from_product([["a"], frame.columns])
        self.expect(InputError, "several levels (a MultiIndex)", lambda: GAM("y ~ x").fit(frame))

    @needs("polars")
    def test_kinds_of_polars_that_are_no_table(self):
        import polars as pl

        model = GAM("y ~ s(x, k=5)").fit(rows(50))
        self.expect(UsageError, "data are a Series", lambda: model.predict(pl.Series("x", [0.5])))
        self.expect(InputError, "'weights' is of type Expr", lambda: GAM("y ~ x").fit(rows(50), weights=pl.col("w")))

    @needs("pyarrow")
    def test_kinds_of_arrow_that_are_no_table(self):
        import pyarrow as pa

        model = GAM("y ~ s(x, k=5)").fit(rows(50))
        self.expect(UsageError, "data are a DoubleArray", lambda: model.predict(pa.array([0.5])))

    @needs("pandas", "pyarrow")
    def test_two_columns_of_one_name(self):
        import pandas as pd
        import pyarrow as pa

        frame = pd.DataFrame(rows(50))
        twice = pd.concat([frame, frame[["x"]] + 1], axis=1)
        arrow = pa.Table.from_arrays(
            [pa.array(twice.iloc[:, i]) for i in range(twice.shape[1])], names=[*twice.columns]
        )
        for data in (twice, arrow):
            for formula in ("y ~ x", "y ~ ."):
                self.expect(InputError, "2 columns 'x'", lambda formula=formula, data=data: GAM(formula).fit(data))
            self.assertEqual(GAM("y ~ z").fit(data).to_json(), GAM("y ~ z").fit(frame).to_json())

    def test_unknown_columns_are_sought_among_all(self):
        data = rows(50)
        self.expect(
            InputError, "unknown column 'X' (did you mean 'x'?); it has: x, z, g", lambda: GAM("y ~ X").fit(data)
        )
        model = GAM("y ~ s(x, k=5)").fit(data)
        for call in (model.predict, model.check, lambda new: model.differences(data, new)):
            self.expect(
                InputError, "unknown column 'x'; it has: w, y", lambda call=call: call({"w": [1.0], "y": [1.0]})
            )
        self.expect(InputError, "unknown column 'x'; it has no columns", lambda: model.simulate(1, {}))
        many = {f"column{i}": [1.0] for i in range(100)}
        self.expect(InputError, "column19 and 80 more", lambda: model.predict(many))
        long = self.expect(InputError, "unknown column 'xxx", lambda: GAM("y ~ " + "x" * 600_000).fit(data))
        self.assertLess(len(str(long)), 3000)

    def test_a_zero_byte_ends_no_text(self):
        data = rows(50)
        model = GAM("y ~ x").fit(data)
        for call in (
            lambda: GAM("y ~ x\0 + z").fit(data),
            lambda: GAM("y ~ x\0 + z").fit(data, launcher="env"),
            lambda: GAM("y ~ x", family="gaussian\0").fit(data),
            lambda: GAM("y ~ x", sp="1\0").fit(data),
            lambda: GAM("y ~ x").fit(data, weights="w\0"),
            lambda: GAM("y ~ .").fit(data | {"a\0b": data["x"]}),
            lambda: GAM("y ~ g").fit(data | {"g": ["a\0", *data["g"][1:]]}),
            lambda: GAM("y ~ x").fit(f"{self.folder}/rows\0.csv"),
            lambda: GAM("y ~ x").fit(f"{self.folder}/rows\0.parquet"),
            lambda: model.save(f"{self.folder}/m.json\0.bak"),
            lambda: GAM.load(f"{self.folder}/m.json\0.bak"),
            lambda: GAM.from_json(model.to_json() + "\0"),
            lambda: model.anova(test="F\0"),
            lambda: model.predict(data, terms=["x\0"]),
        ):
            self.expect(UsageError, "zero byte", call)
        self.expect(UsageError, "the formula is 5", lambda: GAM(5).fit(data))
        self.expect(UsageError, "give a text of Unicode", lambda: GAM("y ~ x").fit(data, weights="\ud800"))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_levels_have_commas_and_quotes(self):
        data = rows(50)
        texts = ["(0, 1]", '(1, 2] "high"', "="]
        data["g"] = [texts[i % 3] for i in range(50)]
        for option in ({"levels": {"g": texts}}, {"ordered": {"g": texts}}):
            model = GAM("y ~ g", **option).fit(data)
            names = ["g.L", "g.Q"] if "ordered" in option else [f"g{text}" for text in texts[1:]]
            self.assertEqual(model.param_names[1:], names)

    def test_a_formula_shows_its_fault(self):
        fault = self.expect(UsageError, "'(' is not closed", lambda: GAM("y ~ s(x").fit(rows(50)))
        self.assertEqual(fault.position, 5)
        self.assertIn("y ~ s(x\n       ^", fault.__notes__[0])


if __name__ == "__main__":
    main()
