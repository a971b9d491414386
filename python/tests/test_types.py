# SPDX-License-Identifier: Apache-2.0
"""The package is typed throughout."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import unittest

from support import main, needs


class Types(unittest.TestCase):
    @needs("mypy")
    def test_mypy_finds_nothing(self):
        package = pathlib.Path(__file__).parents[1]
        found = subprocess.run(
            [sys.executable, "-m", "mypy", "--cache-dir", "/dev/null"],
            cwd=package,
            capture_output=True,
            text=True,
            timeout=200,
        )
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)


if __name__ == "__main__":
    main()
