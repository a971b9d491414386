# SPDX-License-Identifier: Apache-2.0
"""Fits in the processes of an mpi4py communicator. Without a launcher the test starts three processes of itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np
from support import FORMULA, InFolder, main, needs, rows

from tessera_gam import GAM, InputError, UsageError, _native, fit_many

RANKS = 3
UNDER_LAUNCHER = "TESSERA_TEST_RANKS" in os.environ


class Launcher(unittest.TestCase):
    def test_a_library_without_mpi_refuses_communicators_by_name(self):
        with (
            mock.patch.object(_native, "mpi_version", lambda: ""),
            self.assertRaisesRegex(UsageError, "built without MPI: .* launcher='mpirun -np 8'"),
        ):
            GAM("y ~ x").fit(rows(), comm=object())

    @needs("mpi4py", "pandas")
    def test_ranks(self):
        if not _native.mpi_version():
            self.skipTest("the library is built without MPI")
        mpirun = shutil.which("mpirun")
        if mpirun is None:
            self.skipTest("there is no mpirun")
        command = [mpirun, "--oversubscribe", "-np", str(RANKS), sys.executable, __file__]
        done = subprocess.run(
            command, env={**os.environ, "TESSERA_TEST_RANKS": "1"}, capture_output=True, text=True, timeout=200
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\nOK"), RANKS, done.stderr)


class Ranks(InFolder):
    """Runs in each of the processes."""

    def setUp(self):
        from mpi4py import MPI

        super().setUp()
        self.comm = MPI.COMM_WORLD
        self.rank = self.comm.rank
        self.all = rows()
        # Unequal parts that end within blocks.
        ends = [0, 150, 777, 1000]
        self.part = slice(ends[self.rank], ends[self.rank + 1])

    def mine(self, data):
        return {name: values[self.part] for name, values in data.items()}

    def test_same_bits_as_of_all_rows(self):
        model = GAM(FORMULA, block_rows=100)
        expected = model.fit(self.all, weights="w", subset=self.all["z"] < 0.9).to_json()
        mine = self.mine(self.all)
        told = []
        model.fit(mine, weights="w", subset=mine["z"] < 0.9, comm=self.comm, progress=told.append)
        self.assertEqual(model.to_json(), expected)
        self.assertIn("finding knots and constraints", told)
        # Each process can continue without the others.
        np.testing.assert_array_equal(model.predict(mine), GAM.from_json(expected).predict(mine))

    def test_a_file_is_the_table_of_all(self):
        path = self.comm.bcast(self.write_csv("rows.csv", self.all) if self.rank == 0 else None)
        of_file = GAM(FORMULA).fit(path, comm=self.comm).to_json()
        self.comm.barrier()  # the file exists until all have read it
        self.assertEqual(of_file, GAM(FORMULA).fit(self.all).to_json())

    def test_levels_are_those_of_all_processes(self):
        import pandas as pd

        g = np.repeat(np.array(["north", "east", "south"]), [150, 627, 223])  # one level on each rank
        kinds = pd.Categorical(self.all["g"], ["c", "a", "b"])
        data = {"y": self.all["y"], "g": g, "kind": kinds, "on": self.all["x"] > 0.5}
        expected = GAM("y ~ g + kind + on").fit(data).to_json()
        model = GAM("y ~ g + kind + on").fit(pd.DataFrame(data)[self.part], comm=self.comm)
        self.assertEqual(model.to_json(), expected)
        categories = [["a", "b", "c"], ["b", "a", "c"]][self.rank % 2]
        other = {"y": self.all["y"], "g": pd.Categorical(self.all["g"], categories)}
        with self.assertRaisesRegex(UsageError, "categories of 'g' differ from rank to rank"):
            GAM("y ~ g").fit(self.mine(other), comm=self.comm)

    def test_a_failure_of_one_is_one_of_all(self):
        bad = self.mine(self.all)
        if self.rank == 1:
            bad["x"] = bad["x"].astype(complex)
        with self.assertRaisesRegex(InputError, "rank 1: the column 'x' is of type complex128"):
            GAM("y ~ s(x)").fit(bad, comm=self.comm)
        with self.assertRaisesRegex(InputError, "unknown column 'q'"):
            GAM("y ~ q").fit(self.mine(self.all), comm=self.comm)
        # A process whose rows have no levels reports the same error: the levels of the others differ.
        import pandas as pd

        levels = [["a", "b", "c"], ["c", "a", "b"], None][self.rank]
        mine = self.mine(self.all)
        mine["g"] = np.full(len(mine["x"]), None) if levels is None else pd.Categorical(mine["g"], levels)
        with self.assertRaisesRegex(UsageError, "categories of 'g' differ from rank to rank"):
            GAM("y ~ g").fit(mine, comm=self.comm)
        named = self.mine(self.all)
        if self.rank == 2:
            named = dict(reversed(named.items()))
        with self.assertRaisesRegex(UsageError, "rank 2 has the columns y, x, but rank 0 has x, y"):
            GAM("y ~ s(x)").fit(named, comm=self.comm)

        def stop(_):
            if self.rank == 1:
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt if self.rank == 1 else Exception) as raised:
            GAM(FORMULA).fit(self.mine(self.all), comm=self.comm, progress=stop)
        if self.rank != 1:
            self.assertIn("the caller", str(raised.exception))
        # The next fit works as usual.
        again = GAM("y ~ s(x)").fit(self.mine(self.all), comm=self.comm).to_json()
        self.assertEqual(again, GAM("y ~ s(x)").fit(self.all).to_json())

    def test_many_models_are_cut_over_the_processes(self):
        counts = np.random.default_rng(3).poisson(2, (1000, 8))
        expected = fit_many(self.all, counts, "s(x, k=5)", "poisson")
        found = fit_many(self.all, counts, "s(x, k=5)", "poisson", comm=self.comm)
        self.assertTrue(found.fits.equals(expected.fits))
        self.assertTrue(found.tests.equals(expected.tests))
        wrong = counts.astype(str) if self.rank == 1 else counts
        with self.assertRaisesRegex(InputError, "rank 1: counts are of type"):
            fit_many(self.all, wrong, "s(x)", comm=self.comm)

    def test_refusals(self):
        with self.assertRaisesRegex(UsageError, "comm is a object: give a communicator of mpi4py"):
            GAM("y ~ x").fit(self.all, comm=object())
        with self.assertRaisesRegex(UsageError, "comm and launcher"):
            GAM("y ~ x").fit(self.all, comm=self.comm, launcher="mpirun")
        with (
            mock.patch.object(_native, "mpi_version", lambda: "Other MPI"),
            self.assertRaisesRegex(UsageError, "but this package's library is of Other MPI: install mpi4py for Other MPI"),
        ):
            GAM("y ~ x").fit(self.all, comm=self.comm)


def load_tests(loader, _tests, _pattern):
    return loader.loadTestsFromTestCase(Ranks if UNDER_LAUNCHER else Launcher)


if __name__ == "__main__":
    main()
