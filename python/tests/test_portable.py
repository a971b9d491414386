# SPDX-License-Identifier: Apache-2.0
"""Without the library, models are read and predictions computed by numpy."""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import operator
import os
import subprocess
import sys
import textwrap
import tracemalloc
import warnings

import numpy as np
from support import InFolder, main, needs, rows

from tessera_gam import GAM, InputError
from tessera_gam._columns import data_of, names_in
from tessera_gam._portable import PortableModel


class Portable(InFolder):
    def python(self, code):
        """The output of a process without the library."""
        environment = os.environ | {"TESSERA_GAM_LIBRARY": "/none", "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=environment, cwd=self.folder, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_predictions(self):
        data, new = rows(), rows(50, seed=2)
        new["x"][3], new["z"][4] = np.nan, np.inf
        data["y"] = np.round(np.exp(data["y"]))
        model = GAM("y ~ g + s(x, by=g, k=6) + te(x, z, k=4)", family="poisson").fit(data)
        model.save(self.folder / "model.json")
        np.savez(self.folder / "new.npz", **new)
        self.python("""
            import numpy as np
            from tessera_gam import GAM
            new = dict(np.load("new.npz"))
            model = GAM.load("model.json")
            np.savez("fit.npz", link=model.predict(new), response=model.predict(new, type="response"))
        """)
        found = np.load(self.folder / "fit.npz")
        for kind in ("link", "response"):
            np.testing.assert_allclose(found[kind], model.predict(new, type=kind), rtol=1e-10)

    @needs("pandas")
    def test_frames(self):
        GAM("y ~ s(x)").fit(rows()).save(self.folder / "model.json")
        printed = self.python("""
            import pandas as pd
            from tessera_gam import GAM
            print(GAM.load("model.json").predict(pd.DataFrame({"x": [0.2, 0.4]}, index=["a", "b"])).index.tolist())
        """)
        self.assertEqual(printed, "['a', 'b']\n")

    def test_what_it_cannot_do_says_why(self):
        GAM("y ~ s(x)").fit(rows()).save(self.folder / "model.json")
        printed = self.python("""
            from tessera_gam import GAM
            model = GAM.load("model.json")
            for call in (
                lambda: model.predict({"x": [1.0]}, se=True),
                lambda: model.predict({"x": [1.0]}, type="terms"),
                lambda: model.predict("new.csv"),
                lambda: model.predict({"z": [1.0]}),
                lambda: model.summary(),
                lambda: GAM("y ~ x").fit({"x": [1.0], "y": [1.0]}),
            ):
                try:
                    call()
                except Exception as refused:
                    print(type(refused).__name__, refused)
        """).splitlines()
        self.assertEqual(len(printed), 6)
        for line, words in zip(printed, ["se: ", "type='terms': ", "new.csv: ", "no column x", "", ""], strict=True):
            self.assertIn(words, line)
            self.assertIn("TESSERA_GAM_LIBRARY", line)

    def test_models_without_columns_and_tables_without_rows(self):
        data = rows(50)
        data["g"][3] = "unseen"
        for formula in ("y ~ 1", "y ~ 0", "y ~ g", "y ~ s(x, k=5)"):
            model = GAM(formula).fit(rows())
            model.save(self.folder / "model.json")
            portable = PortableModel(self.folder / "model.json")
            for new in (data, {name: values[:0] for name, values in data.items()}):
                names = {"x", "g"} & names_in(formula)
                found = portable.predict(data_of(new, names), names, "", {"type": "link"})
                with warnings.catch_warnings(action="ignore"):  # warning about the new level
                    np.testing.assert_allclose(found, model.predict(new), atol=1e-9)

    def test_rows_in_parts(self):
        data, new = rows(300), rows(5000, seed=2)
        model = GAM("y ~ te(x, z, k=c(7, 7), bs='tp') + s(x, z, k=30)").fit(data)
        model.save(self.folder / "model.json")
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        found = PortableModel(self.folder / "model.json").predict(
            data_of(new, {"x", "z"}), {"x", "z"}, "", {"type": "link"}
        )
        self.assertLess(tracemalloc.get_traced_memory()[1], 200e6)
        np.testing.assert_allclose(found, model.predict(new), atol=1e-9)


class Strangers(InFolder):
    """Any content of a file gives a prediction or an InputError, in bounded memory."""

    FORMULAS = (
        "y ~ g + s(x, k=4, bs='ps') + offset(w)",
        "y ~ s(x, k=4) + s(x, z, k=6) + s(g, bs='re')",
        "y ~ te(x, z, k=3) + s(z, by=g, k=4, bs='cc')",
        "y ~ s(x, g, k=3, bs='fs')",
    )

    def setUp(self):
        super().setUp()
        self.models = []
        for formula in self.FORMULAS:
            model = json.loads(GAM(formula, residuals=False).fit(rows(200)).to_json())
            self.models.append({name: model[name] for name in model if name not in ("triangle", "covariance")})

    def outcome(self, text):
        """Reads a model from a file with this text and predicts."""
        path = self.folder / "model.json"
        path.write_text(text)
        try:
            names = {"x", "z", "g", "w"}
            portable = PortableModel(path)
            found = portable.predict(data_of(rows(3), names), names, "", {"type": "response"})
        except InputError as refused:
            self.assertLess(len(str(refused)), 1000)
            return str(refused)
        self.assertEqual((found.shape, found.dtype), ((3,), np.float64))
        return None

    def test_models_are_read(self):
        for model in self.models:
            self.assertIsNone(self.outcome(json.dumps(model)))

    def test_what_is_no_model(self):
        for text in ("", "[", "[]", "null", "{}", "[" * 200_000, '{"format": ' + "1" * 5000 + "}", "\udc80", "NaN"):
            with self.subTest(text[:20]), contextlib.suppress(UnicodeEncodeError):
                self.assertIsNotNone(self.outcome(text))
        with self.assertRaises(InputError):
            PortableModel(self.folder)
        for version in (0, 1, 8, 2.5, "6", None):
            self.assertIn("version", self.outcome(json.dumps(self.models[0] | {"version": version})))

    def test_sizes_that_the_file_does_not_list(self):
        no_map = {"rows": 10, "cols": 20_000, "entries": []}
        for place, path, value in (
            (0, ("blocks", 0, "map"), {"rows": 3 * 10**8, "cols": 1, "entries": []}),
            (0, ("blocks", 1, "raw_begin"), 10**9),
            (0, ("terms", 2, 0, "margin", "stride"), 10**8),
            (1, ("terms", 1, 0, "radial", "map"), no_map),
            (1, ("terms", 2, 0, "isotropic", "map"), no_map | {"rows": 10**6}),
            (1, ("terms", 2, 0, "isotropic", "points"), no_map | {"rows": 2**52}),
            (3, ("blocks", 1, "copies"), 2**52),
            (1, ("terms", 1), [self.models[1]["design"]["terms"][1][0]] * 60),
        ):
            model = copy.deepcopy(self.models[place])
            *outer, last = path
            functools.reduce(operator.getitem, outer, model["design"])[last] = value
            tracemalloc.start()
            self.assertIsNotNone(self.outcome(json.dumps(model)), path)
            self.assertLess(tracemalloc.get_traced_memory()[1], 50e6)
            tracemalloc.stop()

    def test_mutations(self):
        random = np.random.default_rng(48)
        odd = (
            None,
            True,
            -1,
            0,
            1,
            2,
            7,
            2**31,
            2**53,
            10**40,
            0.5,
            -1e308,
            1e-308,
            "",
            "x",
            "ps",
            [],
            {},
            [[]],
            [1] * 16,
        )
        refused = 0
        with warnings.catch_warnings(action="error"):
            for _ in range(1000):
                model = copy.deepcopy(self.models[random.integers(len(self.models))])
                for _ in range(random.integers(1, 3)):
                    self.mutate(model, random, odd)
                refused += self.outcome(json.dumps(model)) is not None
        self.assertGreater(refused, 300)
        self.assertLess(refused, 990)

    @staticmethod
    def mutate(model, random, odd):
        """Changes something in the parts that predictions read, at any depth."""
        at, key = model, ["design", "design", "design", "coefficients", "link", "version"][random.integers(6)]
        while isinstance(at.get(key) if isinstance(at, dict) else at[key], (dict, list)) and random.random() < 0.8:
            inner = at[key]
            if not inner:
                break
            at, key = (
                inner,
                [*inner][random.integers(len(inner))] if isinstance(inner, dict) else random.integers(len(inner)),
            )
        kind = random.integers(8)
        if isinstance(at, dict) and key not in at:  # already deleted
            at[key] = None
        elif kind == 0:
            del at[key]
        elif kind == 1 and isinstance(at, list):
            at.insert(key, copy.deepcopy(at[key]))
        elif kind == 2 and isinstance(at[key], list) and at[key]:
            at[key].pop()
        elif kind > 3 and type(at[key]) in (int, float):
            at[key] += [-1, 0.5, 1, 1000][random.integers(4)]
        else:
            at[key] = copy.deepcopy(odd[random.integers(len(odd))])


if __name__ == "__main__":
    main()
