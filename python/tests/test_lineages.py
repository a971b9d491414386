# SPDX-License-Identifier: Apache-2.0
"""The model of tradeSeq, against that of R: tests/data/many/make_tradeseq.R and make_tmm.R."""

from __future__ import annotations

import json
import types
import unittest
import warnings

import numpy as np
from support import ROOT, main, needs

from tessera_gam import InputError, TesseraWarning, UsageError, fit_many, lineages

DATA = ROOT / "tests/data/many"


def fixture():
    read = json.loads((DATA / "tradeseq.json").read_text())
    table = {name: np.array(column) for name, column in read["table"].items()}
    times = np.column_stack([table["t1"], table["t2"]])
    return read, table, times, np.column_stack([table["l1"], table["l2"]])


class Lineages(unittest.TestCase):
    def test_is_the_model_of_tradeseq(self):
        read, table, times, weights = fixture()
        made = lineages(times, weights, batch=table["batch"], offset=table["offset"])
        np.testing.assert_allclose(made.knots["t1"], read["knots"], rtol=1e-14)
        self.assertEqual(made.knots["t1"], made.knots["t2"])
        self.assertEqual([*made.covariates], ["t1", "l1", "t2", "l2", "batch", "offset"])
        np.testing.assert_array_equal(made.covariates["l2"], table["l2"])
        counts = np.array([one["y"] for one in read["responses"]]).T
        found = fit_many(made.covariates, counts, made.formula, "nb", knots=made.knots, covariances=True, threads=1)
        np.testing.assert_allclose(found.fits["theta"], [one["theta"] for one in read["responses"]], rtol=1e-4)
        tests = found.test_curves("start-vs-end")
        changes = [one["statistics"]["start_end1"]["log2_fold_changes"][0] for one in read["responses"]]
        np.testing.assert_allclose(tests["log2_fold_change:s(t1):l1"], changes, rtol=1e-3, atol=1e-3)

    def test_assigns_cells_by_their_weights(self):
        random = np.random.default_rng(1)
        times = random.uniform(0, 10, (4000, 1)) * [1, 0.8, 0.5]
        weights = np.tile([1.0, 2.0, 1.0], (4000, 1))
        made = lineages(times, weights, seed=3)
        np.testing.assert_allclose(np.bincount(made.assigned) / 4000, [0.25, 0.5, 0.25], atol=0.03)
        np.testing.assert_array_equal(made.assigned, lineages(times, weights, seed=3).assigned)
        self.assertFalse(np.array_equal(made.assigned, lineages(times, weights, seed=4).assigned))
        # An assignment is repeated, and lineages without weight need no pseudotime.
        repeated = np.eye(3)[made.assigned]
        again = lineages(np.where(repeated > 0, times, np.nan), repeated)
        np.testing.assert_array_equal(again.assigned, made.assigned)
        self.assertEqual(again.knots, made.knots)
        ends = [times[made.assigned == one, one].max() for one in range(3)]
        self.assertLessEqual(set(ends), set(made.knots["t1"]))

    def test_has_one_lineage(self):
        times = np.linspace(0, 1, 90)
        made = lineages(times, k=5)
        self.assertEqual(made.formula, "s(t1, bs='cr', id=1, k=5)")
        counts = np.random.default_rng(2).poisson(np.exp(1 + np.sin(5 * times)))[:, None]
        found = fit_many(made.covariates, counts, made.formula, "nb", knots=made.knots, covariances=True, threads=1)
        self.assertLess(found.test_curves()["p"][0], 1e-3)

    def test_has_conditions(self):
        read, table, times, weights = fixture()
        made = lineages(times, weights, conditions=np.where(table["batch"] == "a", "drug", "control"))
        self.assertEqual(made.conditions, ["control", "drug"])
        np.testing.assert_array_equal(made.covariates["l1_2"], (table["l1"] == 1) & (table["batch"] == "a"))
        counts = np.array(read["responses"][0]["y"])[:, None]
        found = fit_many(made.covariates, counts, made.formula, "nb", knots=made.knots, covariances=True, threads=1)
        tests = found.test_curves("pattern", terms=["s(t2):l2_1", "s(t2):l2_2"])
        self.assertIn("p:s(t2):l2_1-s(t2):l2_2", [*tests])

    def test_has_effective_library_sizes(self):
        for case in json.loads((DATA / "tmm.json").read_text()):
            counts = np.array(case["counts"]).T
            times = np.arange(float(len(counts)))
            sizes = np.exp(lineages(times, counts=counts).covariates["offset"])
            np.testing.assert_allclose(sizes / counts.sum(axis=1), case["factors"], rtol=1e-12)

    @needs("pandas", "scipy")
    def test_takes_frames_in_any_order(self):
        import pandas as pd
        import scipy.sparse as sparse

        counts = np.array(json.loads((DATA / "tmm.json").read_text())[0]["counts"]).T
        names = pd.Index([f"cell{i}" for i in range(len(counts))])
        genes = pd.Index([f"gene{i}" for i in range(counts.shape[1])])
        adata = types.SimpleNamespace(X=sparse.csc_matrix(counts), obs_names=names, var_names=genes)
        times = pd.DataFrame({"one": np.arange(25.0)}, index=names)
        made = lineages(times[::-1], counts=adata)
        expected = lineages(times, counts=adata)
        pd.testing.assert_frame_equal(made.covariates[::-1], expected.covariates)
        found = fit_many(made.covariates, adata, made.formula, "nb", knots=made.knots, threads=1)
        same = fit_many(expected.covariates, adata, made.formula, "nb", knots=made.knots, threads=1)
        np.testing.assert_array_equal(found.fits["reml"], same.fits["reml"])
        with self.assertRaisesRegex(InputError, "counts have no cell 'nobody', which pseudotime has"):
            lineages(times.rename(index={"cell3": "nobody"}), counts=adata)
        with self.assertRaisesRegex(InputError, "have different cells, or another order"):
            lineages(times, times[::-1])

    def test_refuses(self):
        times, weights = np.arange(12.0).reshape(6, 2), np.ones((6, 2))
        missing, none, negative = times.copy(), weights.copy(), weights.copy()
        missing[2], none[3], negative[4, 1] = np.nan, 0, -1
        for error, words, given in (
            (UsageError, "pseudotime has 2 lineages: give cell_weights", {"pseudotime": times}),
            (InputError, "pseudotime of row 3 is missing", {"pseudotime": missing, "cell_weights": weights}),
            (InputError, "row 4 has no weight in any lineage", {"pseudotime": times, "cell_weights": none}),
            (InputError, "a weight of row 5 is negative", {"pseudotime": times, "cell_weights": negative}),
            (InputError, "cell_weights are 6 x 1, but", {"pseudotime": times, "cell_weights": weights[:, :1]}),
            (InputError, "lineage 2 has no cells", {"pseudotime": times, "cell_weights": weights * [1, 0]}),
            (InputError, "pseudotime has no cells", {"pseudotime": np.empty((0, 1))}),
            (InputError, "batch has 2 values for 6 cells", {"pseudotime": times[:, 0], "batch": ["a", "b"]}),
            (InputError, "counts have 2 rows for 6 cells", {"pseudotime": times[:, 0], "counts": np.ones((2, 3))}),
            (InputError, "row 1 of the counts has no count", {"pseudotime": times[:, 0], "counts": np.zeros((6, 3))}),
            (UsageError, "k is 2: give 3 knots or more", {"pseudotime": times[:, 0], "k": 2}),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                lineages(**given)
        with self.assertWarnsRegex(TesseraWarning, "knots are evenly spaced"):
            made = lineages(np.array([0.0] * 9 + [1.0, 2.0]), k=4)
        np.testing.assert_allclose(made.knots["t1"], [0, 2 / 3, 4 / 3, 2])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            lineages(times[:, 0], k=3)


if __name__ == "__main__":
    main()
