# SPDX-License-Identifier: Apache-2.0
"""The commands of the README and of docs/python.md, as written."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import subprocess

from support import InFolder, main, needs, rows

ROOT = pathlib.Path(__file__).parents[2]


def blocks_of(document, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


class Readme(InFolder):
    def test_first_commands(self):
        first = blocks_of("README.md", "sh")[0]
        self.assertTrue(first.startswith("tessera-fit fit table.csv"))
        self.write_csv("table.csv", rows())
        self.write_csv("new.csv", rows(20, seed=2))
        path = pathlib.Path(self.tessera_fit()).parent
        environment = os.environ | {"PATH": f"{path}:{os.environ['PATH']}"}
        subprocess.run(
            ["bash", "-ec", first], cwd=self.folder, env=environment, check=True, capture_output=True, timeout=60
        )
        [code] = blocks_of("README.md", "python")
        names = {"frame": rows(), "new": rows(20, seed=2)}
        exec(code, names)
        self.assertEqual(names["m"].to_json(), names["GAM"].load(self.folder / "model.json").to_json())


@needs("pandas", "matplotlib", "sklearn")
class Guide(InFolder):
    def test_commands(self):
        import matplotlib

        matplotlib.use("Agg")
        code = blocks_of("docs/python.md", "python")
        self.assertEqual(len(code), 3)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        printed, names = io.StringIO(), {}
        with contextlib.redirect_stdout(printed):
            for block in code:
                exec(block, names)
        self.assertIn("s(lcarat)", printed.getvalue())
        self.assertGreater((self.folder / "smooths.png").stat().st_size, 10_000)
        self.assertEqual(names["m"].nobs, 53933)


if __name__ == "__main__":
    main()
