# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/python.md, as written."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re

from support import InFolder, main, needs

ROOT = pathlib.Path(__file__).parents[2]


@needs("pandas", "matplotlib", "sklearn")
class Guide(InFolder):
    def test_commands(self):
        import matplotlib

        matplotlib.use("Agg")
        code = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
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
