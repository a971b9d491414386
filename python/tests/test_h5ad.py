# SPDX-License-Identifier: Apache-2.0
"""Files of AnnData, whose observations are covariates and whose matrices are responses; and of ModelArray."""

from __future__ import annotations

import csv
import json
import subprocess
import warnings

import numpy as np
from support import InFolder, main, needs

from tessera_gam import InputError, fit_many

CELLS = 120
GENES = ["sox2", "gata1", "silent"]
FORMULA = "lineage + batch + s(t, by=lineage, bs='cr', k=5) + offset(log(size))"


def cells():
    random = np.random.default_rng(1)
    return {
        "t": random.random(CELLS),
        "lineage": random.choice(np.array(["b", "a"]), CELLS),
        "batch": random.integers(1, 3, CELLS).astype(str),
        "size": random.uniform(0.5, 2, CELLS),
    }


def counts():
    random = np.random.default_rng(2)
    return random.poisson(np.exp(np.sin(5 * cells()["t"]))[:, None] * np.array([0.4, 3, 0])).astype(np.float32)


def adata(x=None, **obs):
    import anndata
    import pandas as pd

    def texts(values):  # as most files have them; nullable ones are written only if that is asked for
        return pd.Index(values, dtype=object)

    of_cells = pd.DataFrame(cells(), index=texts([f"cell{i}" for i in range(CELLS)]))
    of_cells["lineage"] = pd.Categorical(of_cells["lineage"].astype(object), texts(["b", "a"]))
    of_cells["batch"] = pd.Categorical(of_cells["batch"].astype(int))
    x = counts() if x is None else x
    made = anndata.AnnData(x, obs=of_cells.assign(**obs), var=pd.DataFrame(index=texts(GENES)))
    made.layers["counts"] = x
    return made


@needs("anndata", "pandas", "scipy")
class H5ad(InFolder):
    def setUp(self):
        super().setUp()
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # of anndata, about types that it changes

    def write(self, made, name="data.h5ad"):
        path = self.folder / name
        made.write_h5ad(path)
        return path

    def fits(self, path, *more):
        out = self.folder / "fits.csv"
        self.tessera_fit("many", path, "--formula", FORMULA, "--family", "nb", "--threads", 1, "--out", out, *more)
        return out.read_text()

    def refused(self, *arguments):
        ended = subprocess.run(
            [self.tessera_fit(), *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
        )
        self.assertNotEqual(ended.returncode, 0)
        return ended.stderr

    def columns(self, path):
        told = subprocess.run([self.tessera_fit(), "columns", path, "--json"], capture_output=True, check=True)
        return {one["name"]: one for one in json.loads(told.stdout)["columns"]}

    def expected(self):
        self.write_csv("cells.csv", cells())
        self.write_csv("counts.csv", dict(zip(GENES, counts().T, strict=True)))
        return self.fits(self.folder / "cells.csv", "--responses", self.folder / "counts.csv", "--factor", "batch")

    def test_every_matrix_gives_the_fits_of_a_table(self):
        import scipy.sparse as sparse

        expected = self.expected()
        for kind in (np.asarray, sparse.csr_matrix, sparse.csc_matrix):
            path = self.write(adata(kind(counts())))
            self.assertEqual(self.fits(path), expected)
            self.assertEqual(self.fits(path, "--responses", f"{path}:/layers/counts"), expected)
        found = fit_many(path, f"{path}:/X", FORMULA, "nb", threads=1)
        [titles, *lines] = csv.reader(expected.splitlines())
        np.testing.assert_array_equal(found.fits["edf"][:2], [float(line[titles.index("edf")]) for line in lines[:2]])

    def test_matrices_of_obsm_are_covariates(self):
        made = adata()
        made.obsm["X_map"] = np.column_stack([cells()["size"], cells()["t"]])
        made.obsm["lineage"] = np.ones((CELLS, 1))
        path = self.write(made)
        self.assertLessEqual({"X_map_1", "X_map_2", "lineage_1"}, {*self.columns(path)})
        for values in ("/X", "/layers/counts"):
            found = fit_many(path, f"{path}:{values}", "s(X_map_2, k=5) + X_map_1", "nb", threads=1)
            expected = fit_many(path, f"{path}:{values}", "s(t, k=5) + size", "nb", threads=1)
            np.testing.assert_array_equal(found.fits["reml"], expected.fits["reml"])
        import h5py

        with h5py.File(path, "r+") as file:  # packed, in chunks that do not divide it
            packed = file["obsm/X_map"][:].astype(np.float32)
            del file["obsm/X_map"]
            file.create_dataset("obsm/X_map", data=packed, chunks=(50, 1), shuffle=True, compression="gzip")
            file.create_dataset("obsm/short", data=packed[1:])
        again = fit_many(path, f"{path}:/X", "s(X_map_2, k=5)", "nb", threads=1)
        np.testing.assert_allclose(again.fits["reml"], fit_many(path, f"{path}:/X", "s(t, k=5)", "nb").fits["reml"], 1e-6)
        said = self.refused("many", path, "--formula", "short_1", "--out", self.folder / "no.csv")
        self.assertIn("unknown column 'short_1'", said)

    def test_rows_of_two_files_are_matched_by_name(self):
        expected = self.expected()
        path = self.write(adata())
        other = self.write(adata()[::-1].copy(), "other.h5ad")
        self.assertEqual(self.fits(path, "--responses", f"{other}:/X"), expected)
        few = self.write(adata(), "few.h5ad")
        import h5py

        with h5py.File(few, "r+") as file:
            file["obs/_index"][3] = "nobody"
        said = self.refused("many", path, "--formula", "t", "--responses", f"{few}:/X", "--out", self.folder / "no.csv")
        self.assertIn("has no row 'cell3', which the covariates have, but has a row 'nobody'", said)
        self.assertFalse((self.folder / "no.csv").exists())

    def test_columns_of_every_type(self):
        import anndata
        import pandas as pd

        missing = np.arange(CELLS) % 4 == 0
        with anndata.settings.override(allow_write_nullable_strings=True):
            path = self.write(
                adata(
                    whole=pd.array(np.where(missing, None, 3), "Int64"),
                    truth=pd.array(np.where(missing, None, True), "boolean"),
                    plain=np.arange(CELLS) > 5,
                    gap=pd.Categorical(np.where(missing, None, "u"), pd.array(["u"], "string[python]")),
                    text=pd.array([f"text{i}" for i in range(CELLS)], "string[python]"),
                )
            )
        found = self.columns(path)
        self.assertEqual({name: found[name]["missing"] for name in ("whole", "truth", "gap", "plain", "text")},
                         {"whole": 30, "truth": 30, "gap": 30, "plain": 0, "text": 0})  # fmt: skip
        self.assertEqual(found["plain"]["first_levels"], ["FALSE", "TRUE"])
        self.assertEqual(found["lineage"]["first_levels"], ["a", "b"])
        self.assertEqual(found["batch"]["first_levels"], ["1", "2"])
        self.assertEqual(found["text"]["levels"], CELLS)
        self.assertEqual(found["_index"]["levels"], CELLS)
        self.assertEqual(found["whole"]["kind"], "numbers")

    def test_refuses_what_it_cannot_read(self):
        import h5py

        path = self.write(adata())

        def changed(change):
            other = self.folder / "changed.h5ad"
            other.write_bytes(path.read_bytes())
            with h5py.File(other, "r+") as file:
                change(file)
            return self.refused("many", other, "--formula", "lineage", "--out", self.folder / "no.csv")

        def endless(file):
            del file["obs/lineage/categories"]
            file["obs/lineage/categories"] = file["obs/lineage"]

        def before_0_8(file):
            codes = file["obs/lineage/codes"][:]
            file["obs/__categories/lineage"] = file["obs/lineage/categories"][:]
            del file["obs/lineage"]
            file["obs/lineage"] = codes
            file["obs/lineage"].attrs["categories"] = file["obs/__categories/lineage"].ref

        def before_0_7(file):
            del file["obs"]
            file["obs"] = np.zeros(CELLS, [("index", "S5"), ("t", "f8")])

        def beyond(file):
            file["obs/lineage/codes"][7] = 2

        def pack_by_other(file, name, shape):
            """Replaces a dataset by one whose chunk is packed by a filter that no library has."""
            del file[name]
            made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            made.set_chunk(shape)
            made.set_filter(32768, h5py.h5z.FLAG_OPTIONAL)
            space = h5py.h5s.create_simple(shape)
            created = h5py.h5d.create(file.id, name.encode(), h5py.h5t.NATIVE_INT8, space, made)
            created.write_direct_chunk((0,) * len(shape), b"packed")

        def other_column(file):
            pack_by_other(file, "obs/lineage/codes", (CELLS,))

        def other_matrix(file):
            pack_by_other(file, "X", (CELLS, len(GENES)))

        def unknown(file):
            file["obs/lineage"].attrs["encoding-type"] = "ragged"

        def short_mask(file):
            del file["obs/lineage"]
            group = file.create_group("obs/lineage")
            group.attrs["encoding-type"] = "nullable-integer"
            group["values"], group["mask"] = np.zeros(CELLS), np.zeros(3, bool)

        def hidden_text(file):
            del file["obs/lineage"]
            group = file.create_group("obs/lineage")
            group.attrs["encoding-type"] = "nullable-string-array"
            group["values"], group["mask"] = ["x"] * CELLS, np.arange(CELLS) == 9

        for change, words in (
            (
                before_0_8,
                "'lineage' stores its categories in a separate group, as anndata before 0.8 did: read the file by a newer",
            ),
            (before_0_7, "stores obs as one dataset, as anndata before 0.7 did"),
            (beyond, "row 8: the code of 'lineage' is outside the list of categories"),
            (unknown, "'lineage' has the encoding 'ragged'"),
            (other_column, "the dataset 'lineage' cannot be read, since the file is damaged or its filter is unknown"),
            (other_matrix, "which this HDF5 lacks: write the file with gzip (AnnData: write_h5ad(compression="),
            (endless, "'lineage' has the encoding 'categorical'"),
            (short_mask, "'lineage' has a mask without one byte per value"),
            (hidden_text, "row 10: the text of 'lineage' is missing: write the column as categories"),
        ):
            with self.subTest(words):
                said = changed(change)
                self.assertIn(words, said)
                self.assertNotIn("HDF5-DIAG", said)
        said = self.refused("many", self.folder / "data.csv", "--formula", "t", "--out", self.folder / "no.csv")
        self.assertIn("give --responses, or one AnnData file", said)
        with self.assertRaisesRegex(InputError, "unknown column 'day'"):
            fit_many(path, f"{path}:/X", "s(day)")

    def test_raw_has_names_of_its_own(self):
        made = adata()
        made.raw = made
        path = self.write(made[:, :2].copy())
        expected = self.fits(path, "--responses", f"{path}:/layers/counts")
        self.assertEqual(self.fits(path, "--responses", f"{path}:/raw/X").splitlines()[:3], expected.splitlines())


@needs("h5py")
class ModelArray(InFolder):
    def test_source_files_are_matched_to_a_column(self):
        import h5py

        values = np.log1p(counts()) + cells()["t"][:, None]
        sources = [f"sub-{i}.mif" for i in range(CELLS)]
        self.write_csv("cells.csv", cells() | {"source_file": np.array(sources)})
        self.write_csv("values.csv", dict(zip("123", values.astype(np.float32).T, strict=True)))
        packed = {"dtype": "f4", "compression": "gzip", "compression_opts": 4, "shuffle": True}
        back = slice(None, None, -1)
        with h5py.File(self.folder / "array.h5", "w") as file:
            file.create_dataset("scalars/FD/values", data=values[back], chunks=(CELLS, 2), **packed)
            file["scalars/FD/values"].attrs["column_names"] = sources[back]
            file.create_dataset("scalars/FC/values", data=values[back], chunks=(CELLS, 2), **packed)
            file["scalars/FC/column_names"] = sources[back]
            file.create_dataset("scalars/T/values", data=values[back].T, **packed)
            file["scalars/T/column_names"] = sources[back]

        def fits(responses, *more):
            out = self.folder / "fits.csv"
            self.tessera_fit(
                "many", self.folder / "cells.csv", "--responses", responses, "--formula", "batch + s(t, k=4)",
                "--threads", 1, "--out", out, *more,
            )  # fmt: skip
            return out.read_text()

        expected = fits(self.folder / "values.csv")
        for scalar in ("FD", "FC", "T"):
            found = fits(f"{self.folder / 'array.h5'}:/scalars/{scalar}/values", "--key", "source_file")
            self.assertEqual(found, expected)


if __name__ == "__main__":
    main()
