# SPDX-License-Identifier: Apache-2.0
"""The package is typed throughout, and ruff finds nothing."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import unittest

from support import main, needs


class Types(unittest.TestCase):
    def finds_nothing(self, *tool):
        package = pathlib.Path(__file__).parents[1]
        found = subprocess.run([sys.executable, "-m", *tool], cwd=package, capture_output=True, text=True, timeout=200)
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    @needs("mypy")
    def test_mypy_finds_nothing(self):
        self.finds_nothing("mypy", "--cache-dir", "/dev/null")

    @needs("ruff")
    def test_ruff_finds_nothing(self):
        self.finds_nothing("ruff", "check", "--no-cache", ".")


if __name__ == "__main__":
    main()
