# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the README and of docs/python.md as written."""

from __future__ import annotations

import os
import pathlib
import subprocess

from support import InCopyOfRoot, InFolder, blocks_of, main, needs, printed_by, rows


class Readme(InFolder):
    def test_first_commands(self):
        [first] = [block for block in blocks_of("README.md", "sh") if block.startswith("tessera-fit fit table.csv")]
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
class Guide(InCopyOfRoot):
    def test_commands(self):
        code = blocks_of("docs/python.md", "python")
        self.assertEqual(len(code), 4)
        names = {}
        self.assertIn("s(lcarat)", "".join(printed_by(block, names) for block in code))
        self.assertGreater((self.folder / "smooths.png").stat().st_size, 10_000)
        self.assertEqual(names["m"].nobs, 53933)


if __name__ == "__main__":
    main()
