# SPDX-License-Identifier: Apache-2.0
"""The package has types everywhere, and ruff finds no fault."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

from support import InFolder, main, needs

from tessera_gam import _native

PACKAGE = pathlib.Path(__file__).parents[1]


class Types(InFolder):
    def python(self, *arguments):
        environment = os.environ | {"MYPYPATH": str(PACKAGE / "src")}
        return subprocess.run(
            [sys.executable, *arguments], cwd=PACKAGE, env=environment, capture_output=True, text=True, timeout=200
        )

    def finds_nothing(self, *tool):
        found = self.python("-m", *tool)
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    @needs("mypy")
    def test_mypy_finds_nothing(self):
        self.finds_nothing("mypy", "--cache-dir", "/dev/null")

    @needs("ruff")
    def test_ruff_finds_nothing(self):
        self.finds_nothing("ruff", "check", "--no-cache", ".")

    @needs("mypy")
    def test_options_have_types(self):
        right = [
            'GAM("y ~ s(x)", "binomial", link="probit", knots={"x": [0, 1]}, sp=[0.5, -1], rho="auto", threads=2)',
            'GAM("y ~ g", levels={"g": ["b", "a"]}, ordered="g", memory="2G", na_strings=["NA", ""], device="cpu")',
            'GAM("y ~ s(x)", sp=GAM("y ~ s(x)").sp, min_sp=0.1)',
            'GAM("y ~ x").predict({}, new_levels="na", terms=["x"], keep="g")',
            "GAMRegressor(select=True, gamma=1.4, k=20)",
            'fit_many({}, [], "s(x)", "nb", min_share=0.2, knots={"x": [0, 1]}, responses_in="rows", progress=True).fits',
        ]
        wrong = [
            'GAM("y ~ x", select="yes")',
            'GAM("y ~ x", colour="red")',
            'GAM("y ~ x", knots=[0, 1])',
            'GAM("y ~ x").predict({}, new_levels="none")',
            'GAM("y ~ x").smooths(order=2)',
            'GAMClassifier(options={"select": True})',
            'fit_many({}, [], "s(x)", responses_in="cells")',
        ]
        code = self.folder / "code.py"
        imports = ["from tessera_gam import GAM, fit_many", "from tessera_gam.sklearn import GAMClassifier, GAMRegressor"]
        code.write_text("\n".join([*imports, *right, *wrong]))
        found = self.python("-m", "mypy", "--cache-dir", "/dev/null", str(code)).stdout
        lines = [int(line.split(":")[1]) for line in found.splitlines() if "error:" in line]
        self.assertEqual(lines, [*range(3 + len(right), 3 + len(right) + len(wrong))], found)

    def test_signatures_are_those_of_the_table_of_options(self):
        made = self.python("make_options.py", "--check", _native._library._name)
        self.assertEqual(made.returncode, 0, f"run python/make_options.py:\n{made.stdout}{made.stderr}")


if __name__ == "__main__":
    main()
