# SPDX-License-Identifier: Apache-2.0
"""Fits of an AnnData, and their results in it by Scanpy's conventions."""

from __future__ import annotations

import unittest
import warnings

import numpy as np
from support import main, needs

from tessera_gam import InputError, UsageError, evaluate_k, fit_many, lineages

CELLS = 160
GENES = ["sox2", "gata1", "silent", "steady"]


def cells():
    import anndata
    import pandas as pd
    import scipy.sparse as sparse

    random = np.random.default_rng(4)
    t = random.uniform(0, 10, CELLS)
    second = random.random(CELLS) < 0.5
    means = np.exp(
        np.column_stack([np.sin(t / 2), np.where(second, t / 5, 0.3), np.full(CELLS, -np.inf), np.full(CELLS, 1.0)])
    )
    counts = random.poisson(means * 2).astype(np.float32)
    obs = pd.DataFrame(
        {"t": t, "lineage": pd.Categorical(np.where(second, "b", "a"), pd.Index(["a", "b"], dtype=object))}
    )
    obs.index = pd.Index([f"cell{i}" for i in range(CELLS)], dtype=object)
    adata = anndata.AnnData(np.log1p(counts), obs=obs, var=pd.DataFrame(index=pd.Index(GENES, dtype=object)))
    adata.layers["counts"] = sparse.csr_matrix(counts)
    adata.obsm["X_map"] = np.column_stack([t + random.normal(size=CELLS), random.normal(size=CELLS)])
    adata.obsm["times"] = np.column_stack([t, 0.8 * t])
    adata.obsm["weights"] = np.column_stack([~second, second]).astype(float)
    return adata


@needs("anndata", "pandas", "scipy")
class Adata(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # of anndata, about types that it changes

    def test_has_the_results_in_it(self):
        adata = cells()
        formula = "s(t, by=lineage, k=5) + lineage + X_map_2"
        found = fit_many(adata, formula, "nb", layer="counts")
        covariates = adata.obs.assign(X_map_2=adata.obsm["X_map"][:, 1])
        expected = fit_many(covariates, adata.layers["counts"], formula, "nb", names=GENES)
        np.testing.assert_array_equal(found.fits["reml"], expected.fits["reml"])
        np.testing.assert_array_equal(adata.var["gam_edf"], expected.fits["edf"])
        self.assertEqual([*adata.var["gam_status"].astype(str)], [*map(str, expected.fits["status"])])
        np.testing.assert_array_equal(adata.var["gam_q:s(t):lineagea"], expected.tests["q:s(t):lineagea"])
        np.testing.assert_array_equal(adata.varm["gam_coef"]["X_map_2"], expected.fits["X_map_2"])
        np.testing.assert_array_equal(adata.varm["gam_se"]["X_map_2"], expected.fits["se:X_map_2"])
        self.assertEqual(adata.uns["gam"]["params"], {"formula": formula, "family": "nb", "layer": "counts"})
        self.assertEqual([name for name in adata.var if name.startswith("gam_se:")], [])

    def test_is_read_again_from_its_file(self):
        import pathlib
        import tempfile

        import anndata

        adata = cells()
        fit_many(adata, pseudotime="times", cell_weights="weights", layer="counts", key_added="curves")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "cells.h5ad"
            adata.write_h5ad(path)
            again = anndata.read_h5ad(path)
            backed = anndata.read_h5ad(path, backed="r")
            found = fit_many(backed, "s(t, k=5)", key_added="again")
            np.testing.assert_array_equal(found.fits["reml"], fit_many(cells(), "s(t, k=5)").fits["reml"])
        self.assertEqual(again.uns["curves"]["params"]["family"], "nb")
        np.testing.assert_array_equal(again.uns["curves"]["knots"]["t1"], adata.uns["curves"]["knots"]["t1"])
        np.testing.assert_array_equal(again.varm["curves_coef"], adata.varm["curves_coef"])

    def test_builds_the_model_of_pseudotimes(self):
        adata = cells()
        found = fit_many(adata, pseudotime="times", cell_weights="weights", layer="counts", k=5, covariances=True)
        counts = adata.layers["counts"]
        made = lineages(adata.obsm["times"], adata.obsm["weights"], counts=counts, k=5)
        expected = fit_many(made.covariates, counts, made.formula, "nb", names=GENES, knots=made.knots)
        np.testing.assert_array_equal(found.fits["reml"], expected.fits["reml"])
        np.testing.assert_array_equal(adata.uns["gam"]["lineage"], made.assigned)
        self.assertLess(found.test_curves("pattern")["p"][1], 1e-3)
        one = fit_many(cells(), pseudotime="t", layer="counts", family="poisson")
        self.assertIn("edf:s(t1)", [*one.fits])

    def test_a_view_keeps_no_results(self):
        adata = cells()
        some = adata[:, ["gata1", "steady"]]
        found = fit_many(some, "s(t)", "nb", layer="counts")
        self.assertEqual([*map(str, found.fits["response"])], ["gata1", "steady"])
        self.assertTrue(some.is_view)
        self.assertNotIn("gam", adata.uns)

    def test_raw_may_have_other_genes(self):
        adata = cells()
        adata.raw = adata.copy()
        few = adata[:, ["sox2", "steady"]].copy()
        found = fit_many(few, "s(t)", use_raw=True)
        self.assertEqual(len(found.fits), 4)
        np.testing.assert_array_equal(few.var["gam_reml"], np.asarray(found.fits["reml"])[[0, 3]])

    def test_numbers_of_knots(self):
        adata = cells()
        given = {"pseudotime": "times", "cell_weights": "weights", "layer": "counts"}
        found = evaluate_k(adata, **given, k=[4, 6], genes=3, seed=2)
        self.assertEqual([*found], ["response", "aic:k=4", "aic:k=6"])
        self.assertNotIn("gam", adata.uns)
        fits = fit_many(cells(), **given, k=6, seed=2).fits.set_index("response")
        aic = fits["aic"].where(fits["status"].astype(str) == "converged")
        np.testing.assert_array_equal(found["aic:k=6"], aic.reindex(found["response"]))

    def test_contrasts_are_given(self):
        import pandas as pd

        found = fit_many(cells(), "s(t, by=lineage, k=5) + lineage", "nb", layer="counts", covariances=True)
        ends = {"lineageb": 1, "s(t):lineagea.4": -1, "s(t):lineageb.4": 1}
        frame = pd.DataFrame({"end": ends, "level": {"lineageb": 1}}).fillna(0)
        tests = found.test_curves(contrasts={"both": frame, "level": {"lineageb": 1}})
        coef, covariance = found.fits.set_index("response").loc["gata1"], found.covariance("gata1")
        names = found.model("gata1").param_names
        rows = np.array([[frame.T[name].iloc[i] if name in frame.index else 0 for name in names] for i in range(2)])
        estimate = rows @ np.array([coef[name] for name in names], float)
        statistic = estimate @ np.linalg.solve(rows @ covariance @ rows.T, estimate)
        self.assertAlmostEqual(tests["statistic:both"][1] / statistic, 1, 9)
        self.assertAlmostEqual(tests["log2_fold_change:level"][1], coef["lineageb"] / np.log(2), 12)
        self.assertNotIn("statistic:s(t):lineagea", [*tests])

    def test_curves_have_intervals(self):
        found = fit_many(cells(), "s(t, by=lineage, k=5) + lineage", "nb", layer="counts", covariances=True)
        curves = found.curves(points=4, end=8, interval=0.9)
        columns = [name for name in curves if name.startswith("s(t):lineageb@")]
        times = [float(name.split("@")[1]) for name in columns[::3]]
        model = found.model("gata1")
        expected = model.predict({"t": times, "lineage": ["b"] * 4}, type="response", interval=0.9)
        for suffix, name in (("", "fit"), (".lower", "lower"), (".upper", "upper")):
            mean = [curves[column + suffix][1] for column in columns[::3]]
            np.testing.assert_allclose(mean, expected[name], rtol=1e-5)  # times are written with six digits
        with self.assertRaisesRegex(UsageError, "scaled values have no interval"):
            found.curves(scaled=True, interval=0.9)

    def test_refuses(self):
        adata = cells()
        twice = adata[:, ["sox2", "sox2"]].copy()
        for error, words, call in (
            (InputError, "no layer 'raw': it has counts", lambda: fit_many(adata, "s(t)", layer="raw")),
            (InputError, "has no raw", lambda: fit_many(adata, "s(t)", use_raw=True)),
            (UsageError, "name two matrices", lambda: fit_many(adata, "s(t)", use_raw=True, layer="counts")),
            (InputError, "obs and obsm have no 'age'", lambda: fit_many(adata, pseudotime="age")),
            (UsageError, "k needs pseudotime", lambda: fit_many(adata, "s(t)", k=4)),
            (UsageError, "leave one of them out", lambda: fit_many(adata, "s(t)", pseudotime="t")),
            (UsageError, "a formula is missing", lambda: fit_many(adata)),
            (InputError, "names of genes occur twice", lambda: fit_many(twice, "s(t)")),
            (InputError, "not a count.*layer='counts'", lambda: fit_many(adata, "s(t)", "nb")),
            (InputError, "not a count.*layer='counts'", lambda: fit_many(adata.obs, adata, "s(t)", "nb")),
            (InputError, "pseudotime has no cells", lambda: fit_many(adata[:0].copy(), pseudotime="t")),
            (UsageError, "the variable 'counts' has a value", lambda: fit_many(adata, "s(counts)")),
            (UsageError, "give an AnnData", lambda: fit_many(adata.obs, adata.X, "s(t)", pseudotime="t")),
            (UsageError, "no coefficient 'age'", lambda: self._tested({"age": {"age": 1}})),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()

    def _tested(self, contrasts):
        fit_many(cells(), "s(t)", covariances=True).test_curves(contrasts=contrasts)


if __name__ == "__main__":
    main()
