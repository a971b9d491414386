# SPDX-License-Identifier: Apache-2.0
"""Data and helper functions of the tests."""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

if "TESSERA_GAM_LIBRARY" in os.environ:  # otherwise the installed package is tested
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "src"))

import numpy as np  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
FORMULA = "y ~ g + s(x, by=g, k=8) + s(z, bs='cr', k=6)"


def rows(n=1000, seed=1):
    """Numbers x, z and w, a factor g with three levels, and a response y, as a dict of arrays."""
    random = np.random.default_rng(seed)
    x, z = random.random(n), random.random(n)
    g = random.choice(np.array(["a", "b", "c"]), n)
    g[0] = "b"  # levels do not occur in sorted order
    y = np.sin(6 * x) * (1 + (g == "b")) + z**2 + random.normal(0, 0.3, n)
    return {"x": x, "z": z, "g": g, "w": random.uniform(0.5, 2, n), "y": y}


def needs(*packages):
    """Skips a test if one of the packages is missing."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"there is no {', '.join(missing)}")


class InFolder(unittest.TestCase):
    """A test that runs in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write_csv(self, name, data):
        path = self.folder / name
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(data)
            columns = [["NA" if v is None or v != v else v for v in np.asarray(c).tolist()] for c in data.values()]
            writer.writerows(zip(*columns, strict=True))
        return path

    def tessera_fit(self, *arguments):
        """Runs the program if there are arguments; returns its path."""
        program = os.environ.get("TESSERA_FIT")
        if not program:
            self.skipTest("there is no tessera-fit: set TESSERA_FIT")
        if arguments:
            subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, timeout=60)
        return program


class InCopyOfRoot(InFolder):
    """Runs in a folder with the examples, in which matplotlib draws into files."""

    def setUp(self):
        import matplotlib

        super().setUp()
        matplotlib.use("Agg")
        matplotlib.rcdefaults()
        (self.folder / "examples").symlink_to(ROOT / "examples")
        self.enterContext(contextlib.chdir(self.folder))


def blocks_of(document, language):
    """The code blocks of a document."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def printed_by(code, names):
    """The output that code prints. The code reads and sets `names`."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def main():
    """Runs the tests of a file; the exit status is 77 if any of them skips."""
    result = unittest.main(exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)
