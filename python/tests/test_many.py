# SPDX-License-Identifier: Apache-2.0
"""Many models from every form of a matrix: the numbers of tessera-fit many, or a refusal."""

from __future__ import annotations

import csv
import pickle
import signal
import subprocess
import sys
import time
import types
from unittest import mock

import numpy as np
from support import InFolder, main, needs

from tessera_gam import InputError, ManyFits, UsageError, _many, fit_many

CELLS = 120
GENES = ["sox2", "gata1", "silent", "tal1", "klf4"]
FORMULA = "lineage + s(t, by=lineage, bs='cr', k=5) + offset(log(size))"
TEXTS = ("response", "status", "limits", "reason", "computed_on")


def cells():
    random = np.random.default_rng(1)
    return {
        "t": random.random(CELLS),
        "lineage": random.choice(np.array(["a", "b"]), CELLS),
        "size": random.uniform(0.5, 2, CELLS),
        "w": random.uniform(0.5, 2, CELLS),
    }


def matrix():
    """Counts n x G; of the third gene there are none."""
    random = np.random.default_rng(2)
    means = np.exp(np.sin(5 * cells()["t"]))[:, None] * np.array([0.4, 3, 0, 1, 8])
    return random.poisson(means)


def numbers(fits):
    """The columns of numbers, one below the other."""
    names = [name for name in fits if name not in TEXTS]
    return np.array([np.asarray(fits[name], float) for name in names])


class Many(InFolder):
    def fit(self, counts=None, names=GENES, **options):
        counts = matrix() if counts is None else counts
        given = {"family": "nb", "threads": 1, "names": names} | options
        return fit_many(cells(), counts, FORMULA, **given)

    def same(self, found, expected=None):
        expected = self.fit() if expected is None else expected
        for one, other in ((found.fits, expected.fits), (found.tests, expected.tests)):
            self.assertEqual([*one], [*other])
            self.assertEqual([*one["response"]], [*other["response"]])
            np.testing.assert_array_equal(numbers(one), numbers(other))

    def test_has_the_numbers_of_the_program(self):
        self.write_csv("cells.csv", cells())
        self.write_csv("counts.csv", dict(zip(GENES, matrix().T, strict=True)))
        outputs = ["--out", self.folder / "fits.csv", "--tests", self.folder / "tests.csv"]
        self.tessera_fit(
            "many", self.folder / "cells.csv", "--responses", self.folder / "counts.csv", "--formula", FORMULA,
            "--family", "nb", "--threads", 2, *outputs,
        )  # fmt: skip
        found = self.fit()
        for name, frame in (("fits.csv", found.fits), ("tests.csv", found.tests)):
            with (self.folder / name).open() as file:
                titles, *lines = csv.reader(file)
            self.assertEqual(titles, [*frame])
            for title, column in zip(titles, zip(*lines, strict=True), strict=True):
                if title in TEXTS:
                    # A missing text is None, or NaN in a frame.
                    texts = ["NA" if one is None or one != one else one for one in frame[title]]
                    self.assertEqual([*column], texts)
                else:
                    of_file = [np.nan if one == "NA" else float(one) for one in column]
                    np.testing.assert_array_equal(np.asarray(frame[title]), of_file, title)
        self.assertEqual(found.by_status, {"all_zero": 1, "converged": 4})
        self.assertEqual(repr(found), "ManyFits of 5 responses: 1 all_zero, 4 converged")
        self.assertIsInstance(found, ManyFits)
        # Files are read by the library.
        self.same(fit_many(self.folder / "cells.csv", self.folder / "counts.csv", FORMULA, "nb"), found)

    def test_takes_arrays_of_any_kind(self):
        counts = matrix()
        for kind in ("f8", "f4", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">f8", ">i2", "g"):
            self.same(self.fit(counts.astype(kind)))
        self.same(self.fit(np.asfortranarray(counts)))
        self.same(self.fit(np.repeat(np.repeat(counts, 2, 0), 3, 1)[::2, ::3]))
        self.same(self.fit(counts[::-1][::-1][:, ::-1][:, ::-1]))
        self.same(self.fit(counts[::-1].copy()[::-1]))
        self.same(self.fit(np.rec.fromarrays([counts, counts]).f0))
        self.same(self.fit(counts.T, responses_in="rows"))
        self.same(self.fit(counts.T))  # as the number of rows says
        self.assertEqual([*self.fit(names=None).fits["response"]], ["1", "2", "3", "4", "5"])

    def test_reads_arrays_where_they_are(self):
        for counts in (matrix(), np.asfortranarray(matrix().astype("f4")), matrix()[::2, ::3]):
            structure = _many._dense(counts, None, None).structure
            self.assertEqual(structure.values, counts.ctypes.data)
            self.assertEqual(structure.row_stride * counts.itemsize, counts.strides[0])

    @needs("scipy")
    def test_takes_sparse_matrices(self):
        import scipy.sparse as sparse

        for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_matrix):
            counts = kind(matrix().astype(np.float32))
            self.same(self.fit(counts))
        counts = sparse.csr_matrix(matrix())
        counts.indices, counts.indptr = counts.indices.astype(np.int64), counts.indptr.astype(np.int64)
        self.same(self.fit(counts))
        # Beyond the memory they are sorted in a scratch file.
        self.same(self.fit(counts, memory=1, scratch=self.folder, require_one_kind=True))
        structure = _many._sparse(counts, None, None).structure
        self.assertEqual(structure.values, counts.data.ctypes.data)
        self.assertEqual(structure.indices, counts.indices.ctypes.data)
        counts.indices[5] = 99
        with self.assertRaisesRegex(InputError, "the index 99 of element 5 is outside of the matrix"):
            self.fit(counts)

    def test_takes_tables(self):
        columns = dict(zip(GENES, matrix().T, strict=True))
        self.same(self.fit(columns, None))
        # Rows by name.
        of_cells = cells() | {"id": np.array([f"cell{i}" for i in range(CELLS)])}
        backwards = {name: column[::-1] for name, column in (columns | {"id": of_cells["id"]}).items()}
        self.same(fit_many(of_cells, backwards, FORMULA, "nb", key="id"))
        with self.assertRaisesRegex(UsageError, "names: leave them out"):
            self.fit(columns)
        with self.assertRaisesRegex(InputError, "the response 'w' has texts, such as 'a'"):
            self.fit({**columns, "w": cells()["lineage"]}, None)
        seen = {"seen": matrix()[:, 0] > 0}
        self.same(self.fit(seen, None, family="binomial"), self.fit(matrix()[:, :1] > 0, ["seen"], family="binomial"))

    @needs("pandas", "polars", "pyarrow")
    def test_takes_frames(self):
        import pandas as pd
        import polars as pl
        import pyarrow as pa

        columns = dict(zip(GENES, matrix().T, strict=True))
        expected = self.fit()
        self.assertIsInstance(expected.fits, pd.DataFrame)
        for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
            self.same(self.fit(frame, None), expected)
        # By the labels of the rows, where both have any.
        of_cells = pd.DataFrame(cells(), index=[f"cell{i}" for i in range(CELLS)])
        reverse = of_cells[::-1]
        labelled = pd.DataFrame(columns, index=of_cells.index)
        self.same(fit_many(reverse, labelled, FORMULA, "nb"), expected)
        adata = types.SimpleNamespace(X=matrix(), obs_names=of_cells.index, var_names=pd.Index(GENES))
        self.same(fit_many(reverse, adata, FORMULA, "nb"), expected)
        self.same(fit_many(reverse, adata, FORMULA, "nb", weights=reverse["w"]), self.fit(weights=cells()["w"]))
        with self.assertRaisesRegex(InputError, "the labels of 'covariates'"):
            fit_many(of_cells.set_axis(range(CELLS)), labelled, FORMULA, "nb")

    def test_has_missing_values(self):
        counts = matrix().astype(float)
        counts[:30, 1] = np.nan
        found = self.fit(counts)
        self.assertEqual([*found.fits["rows"]], [CELLS, CELLS - 30, CELLS, CELLS, CELLS])
        self.same(self.fit(np.ma.masked_invalid(counts)), found)
        self.assertEqual(self.fit(counts, min_share=0.9).by_status["too_few"], 1)

    def test_has_weights(self):
        found = self.fit(weights="w")
        self.same(self.fit(weights=cells()["w"]), found)
        self.assertFalse(np.array_equal(numbers(found.fits), numbers(self.fit().fits), equal_nan=True))
        self.same(self.fit(weights=np.repeat(cells()["w"][:, None], len(GENES), 1)), found)

    @needs("scipy")
    def test_has_matrices_of_weights_and_offsets(self):
        import scipy.sparse as sparse

        whole = np.ones((CELLS, len(GENES)))
        whole[::3, 1] = 0
        found = self.fit(weights=whole)
        self.assertEqual([*found.fits["rows"]], [CELLS, CELLS - len(range(0, CELLS, 3)), CELLS, CELLS, CELLS])
        self.same(self.fit(weights=sparse.csr_array(whole)), found)
        other = np.delete(matrix(), range(0, CELLS, 3), 0)[:, 1:2]
        alone = fit_many(
            {name: np.delete(column, range(0, CELLS, 3)) for name, column in cells().items()},
            other, "lineage", "poisson",
        )  # fmt: skip
        both = fit_many(cells(), matrix()[:, 1:2], "lineage", "poisson", weights=whole[:, 1:2], offsets=whole[:, 1:2])
        np.testing.assert_allclose(both.fits["(Intercept)"] + 1, alone.fits["(Intercept)"], rtol=1e-9)
        np.testing.assert_allclose(both.fits["lineageb"], alone.fits["lineageb"], rtol=1e-9)
        with self.assertRaisesRegex(UsageError, "offsets: give a matrix of n x G"):
            self.fit(offsets=cells()["w"])
        with self.assertRaisesRegex(InputError, "is 120 x 2, but|has 2 responses, but"):
            self.fit(weights=whole[:, :2])

    def test_takes_matrices_in_files(self):
        self.write_csv("cells.csv", cells())
        np.save(self.folder / "counts.npy", matrix())
        np.save(self.folder / "whole.npy", np.ones((CELLS, len(GENES))))
        whole = self.folder / "whole.npy"
        expected = self.fit(names=None)
        for of_cells in (cells(), self.folder / "cells.csv"):
            found = fit_many(of_cells, self.folder / "counts.npy", FORMULA, "nb")
            self.same(found, expected)
        found = fit_many(cells(), str(self.folder / "counts.npy"), FORMULA, "nb", weights=whole, offsets=whole)
        self.same(found, self.fit(names=None, weights=np.ones((CELLS, 5)), offsets=np.ones((CELLS, 5))))
        with self.assertRaisesRegex(UsageError, "a checkpoint needs covariates and responses in files"):
            fit_many(cells(), self.folder / "counts.npy", FORMULA, checkpoint=self.folder / "state")
        with self.assertRaisesRegex(UsageError, "names: leave them out"):
            self.fit(self.folder / "counts.npy")
        with self.assertRaisesRegex(InputError, "none.npy: cannot be read"):
            fit_many(cells(), self.folder / "none.npy", FORMULA)

    def test_resumes_after_a_kill(self):
        self.write_csv("cells.csv", cells())
        random = np.random.default_rng(3)
        np.save(self.folder / "counts.npy", random.poisson(2, (CELLS, 600)))
        given = {"formula": FORMULA, "family": "poisson", "threads": 1, "covariances": True}
        expected = fit_many(self.folder / "cells.csv", self.folder / "counts.npy", **given)
        state = self.folder / "state"
        killed = f"""
import os, signal, sys
sys.path[:] = {sys.path!r}
from tessera_gam import fit_many
def progress(line):
    if line.startswith("responses ") and int(line.split()[1]) > 64:
        os.kill(os.getpid(), signal.SIGKILL)
fit_many({str(self.folder / "cells.csv")!r}, {str(self.folder / "counts.npy")!r}, checkpoint={str(state)!r}, progress=progress, **{given!r})
"""
        ended = subprocess.run([sys.executable, "-c", killed], timeout=60, capture_output=True)
        self.assertEqual(ended.returncode, -signal.SIGKILL, ended.stderr)
        self.assertTrue(state.exists())
        with self.assertRaisesRegex(InputError, "another formula|formula"):
            fit_many(
                self.folder / "cells.csv", self.folder / "counts.npy", checkpoint=state, **given | {"formula": "s(t)"}
            )
        with self.assertLogs("tessera_gam", "INFO") as logs:
            found = fit_many(self.folder / "cells.csv", self.folder / "counts.npy", checkpoint=state, **given)
        self.assertRegex("\n".join(logs.output), "resuming after (64|128|192|256|320) of 600 responses")
        self.same(found, expected)
        np.testing.assert_array_equal(found.covariance("7"), expected.covariance("7"))
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("state")], [])

    def test_has_models_of_responses(self):
        found = self.fit(covariances=True)
        self.same(found)
        self.assertEqual(repr(found), repr(self.fit()))
        model = found.model("tal1")
        place = GENES.index("tal1")
        self.assertEqual(model.formula.split("~")[0], "`tal1` ")
        names = model.param_names
        np.testing.assert_array_equal(model.params, [found.fits[name][place] for name in names])
        covariance = found.covariance("tal1")
        np.testing.assert_array_equal(covariance, covariance.T)
        errors = [found.fits[f"se:{name}"][place] for name in names]
        np.testing.assert_allclose(np.sqrt(np.diag(covariance)), errors, rtol=1e-12)
        design = model.predict(cells(), type="lpmatrix")
        predicted = model.predict(cells(), se=True)
        np.testing.assert_allclose(predicted["fit"], design @ model.params + np.log(cells()["size"]), rtol=1e-9)
        np.testing.assert_allclose(
            predicted["se"] ** 2, np.einsum("ij,jk,ik->i", design, covariance, design), rtol=1e-9
        )
        self.assertIn("lineageb", str(model.summary()))
        for smooth in model.summary()["smooths"]:
            self.assertEqual(smooth["p_value"], found.tests[f"p:{smooth['term']}"][place])
            self.assertGreater(smooth["statistic"], 0)
        # A model is a value of its own; the results keep no model in a copy.
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(cells()), predicted["fit"])
        copied = pickle.loads(pickle.dumps(found))
        self.same(copied, found)
        # A lineage without counts has its curve at minus infinity.
        absent = self.fit(matrix() * (cells()["lineage"] == "a")[:, None], covariances=True).model("klf4")
        predicted = absent.predict(cells())
        np.testing.assert_array_equal(np.isinf(predicted), cells()["lineage"] == "b")
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(absent)).predict(cells()), predicted)
        for of, response, what in (
            (found, "silent", "the response 'silent' has no fit .status all_zero."),
            (found, "tal2", "the results have no response 'tal2' .did you mean 'tal1'"),
            (found, 3, "the response is 3"),
            (copied, "tal1", "covariances=True; a pickled result never keeps them"),
            (self.fit(), "tal1", "fit with covariances=True"),
        ):
            with self.assertRaisesRegex(UsageError, what):
                of.model(response)

    def test_tests_curves(self):
        found = self.fit(covariances=True)
        tests = found.test_curves("diff-end", threads=1)
        self.assertEqual([*tests["response"]], GENES)
        part = "s(t):lineagea-s(t):lineageb"
        self.assertEqual([*tests][:7], ["response", "statistic", "df", "p", "q", f"statistic:{part}", f"df:{part}"])
        model = found.model("tal1")
        ends = {"t": np.zeros(2), "lineage": np.array(["a", "b"]), "size": np.ones(2)}
        for place, lineage in enumerate(ends["lineage"]):
            ends["t"][place] = cells()["t"][cells()["lineage"] == lineage].max()
        rows = model.predict(ends, type="lpmatrix")
        contrast = rows[0] - rows[1]
        difference = contrast @ model.params
        place = GENES.index("tal1")
        self.assertAlmostEqual(tests[f"log2_fold_change:{part}"][place], difference / np.log(2), 9)
        statistic = difference**2 / (contrast @ model.cov @ contrast)
        self.assertAlmostEqual(tests["statistic"][place], statistic, 9 - int(np.log10(statistic)))
        self.assertTrue(np.isnan(tests["p"][GENES.index("silent")]))
        # The same as the program's.
        self.write_csv("cells.csv", cells())
        self.write_csv("counts.csv", dict(zip(GENES, matrix().T, strict=True)))
        fits, out = self.folder / "fits.h5", self.folder / "curves.csv"
        self.tessera_fit(
            "many", self.folder / "cells.csv", "--responses", self.folder / "counts.csv", "--formula", FORMULA,
            "--family", "nb", "--threads", 1, "--covariances", "--out", fits,
        )  # fmt: skip
        self.tessera_fit("curves", fits, "--test", "pattern", "--l2fc", 0.5, "--out", out)
        tests = found.test_curves("pattern", l2fc=0.5)
        with out.open() as file:
            titles, *lines = csv.reader(file)
        self.assertEqual(titles, [*tests])
        for title, column in zip(titles[1:], list(zip(*lines, strict=True))[1:], strict=True):
            of_file = [np.nan if one == "NA" else float(one) for one in column]
            np.testing.assert_array_equal(np.asarray(tests[title]), of_file, title)
        with self.assertRaisesRegex(UsageError, "give one of association, start-vs-end, diff-end, pattern"):
            found.test_curves("end")
        with self.assertRaisesRegex(UsageError, "fit with covariances=True"):
            self.fit().test_curves()

    def test_has_curves(self):
        found = self.fit(covariances=True)
        means = found.curves(terms="s(t):lineageb", points=4, end=0.8)
        place = GENES.index("tal1")
        # The root of both lineages, since this one begins within a hundredth of its length.
        points = np.linspace(cells()["t"].min(), 0.8, 4)
        self.assertEqual([*means], ["response", *(f"s(t):lineageb@{point:.6g}" for point in points)])
        new = {"t": points, "lineage": np.array(["b"] * 4), "size": np.ones(4)}
        expected = found.model("tal1").predict(new, type="response")
        values = np.array([means[name][place] for name in [*means][1:]])
        np.testing.assert_allclose(values, expected, rtol=1e-9)
        scaled = found.curves(terms="s(t):lineageb", points=4, end=0.8, scaled=True)
        scores = [scaled[name][place] for name in [*scaled][1:]]
        np.testing.assert_allclose(scores, (expected - expected.mean()) / expected.std(ddof=1), rtol=1e-9)
        self.assertTrue(all(np.isnan(means[name][GENES.index("silent")]) for name in [*means][1:]))
        # The other lineage of a gene that it lacks.
        absent = self.fit(matrix() * (cells()["lineage"] == "a")[:, None], covariances=True).curves(points=2)
        known = [not np.isnan(absent[name][place]) for name in [*absent][1:]]
        self.assertEqual(known, [True, True, False, False])

    def test_refuses(self):
        for counts, what in (
            (matrix()[:, 0], "counts have 1 dimensions"),
            (matrix()[1:], "is 119 x 5, but the covariates have 120 rows"),
            (matrix() + 0.5, "response 'sox2', row 1: the value .*5 is not a count"),
            (matrix().astype(str), "give numbers"),
        ):
            with self.assertRaisesRegex(InputError, what):
                self.fit(counts)
        with self.assertRaisesRegex(UsageError, "2 names are given for 5 responses"):
            self.fit(names=["a", "b"])
        with self.assertRaisesRegex(UsageError, "data are a list"):
            self.fit([1, 2], None)
        with self.assertRaisesRegex(InputError, "unknown column 'day'"):
            fit_many(cells(), matrix(), "s(day)")
        # Covariates that differ by response.
        differs = "the variable 'u' has a value for each response, but covariates are the same for all"
        with self.assertRaisesRegex(UsageError, differs):
            fit_many({**cells(), "u": matrix()}, matrix(), "t + u", "poisson")
        adata = types.SimpleNamespace(
            X=matrix(), obs_names=range(CELLS), var_names=GENES, layers={"u": matrix(), "log": matrix()}
        )
        with self.assertRaisesRegex(UsageError, differs):
            fit_many(cells(), adata, "t + offset(log(u))", "poisson")
        self.same(fit_many(cells(), adata, FORMULA, "nb"), self.fit())

    def test_is_a_dict_of_arrays_without_pandas(self):
        with mock.patch.dict(sys.modules, {"pandas": None}):
            found = self.fit()
        self.assertIsInstance(found.fits, dict)
        self.same(found)
        self.assertEqual(found.by_status, {"all_zero": 1, "converged": 4})

    def test_ends_when_it_is_interrupted(self):
        same = np.broadcast_to(matrix()[:, 1:2], (CELLS, 1_000_000))  # many times one gene, of no memory
        lines = []

        def interrupt(line):
            lines.append(line)
            if "responses 1 to" in line:
                raise KeyboardInterrupt

        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            self.fit(same, None, progress=interrupt)
        self.assertLess(time.monotonic() - start, 20)
        self.assertIn("setting up the model", lines)


if __name__ == "__main__":
    main()
