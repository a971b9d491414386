# SPDX-License-Identifier: Apache-2.0
"""The code of docs/gallery.md, docs/families.md and docs/cells.md prints and draws the results shown there.

With TESSERA_REWRITE_GALLERY set, texts and figures are rewritten, not compared: review them.
"""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import re
import warnings

from support import ROOT, InCopyOfRoot, main, needs, printed_by

LARGEST_DIFFERENCE = 2.0  # root mean square of pixel values, which are at most 255


@needs("pandas", "matplotlib")
class Gallery(InCopyOfRoot):
    maxDiff = None

    def test_gallery(self):
        self.expect_shown("gallery.md")

    def test_families(self):
        self.expect_shown("families.md")

    @needs("scanpy")
    def test_cells(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Scanpy and anndata, about versions
            self.expect_shown("cells.md", "scanpy")

    def expect_shown(self, page, *packages):
        document = ROOT / "docs" / page
        names = {"__name__": "page"}  # to which warnings are attributed
        made = re.sub(
            r"(?<=```python\n)(.*?)```(\n\n```text\n.*?```)?",
            lambda block: self.with_output(block[1], printed_by(block[1], names), block[2]),
            document.read_text(),
            flags=re.DOTALL,
        )
        figures = re.findall(r"\]\(gallery/(.*?)\)", made)
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.png")), sorted(figures))
        if os.environ.get("TESSERA_REWRITE_GALLERY"):
            document.write_text(made)
            for figure in figures:
                self.write_small(figure)
            return
        self.skip_unless_pinned("matplotlib", "pandas", *packages)
        self.assertEqual(made, document.read_text())
        for figure in figures:
            self.expect_same(figure)

    def with_output(self, code, printed, shown):
        self.assertEqual(bool(printed), shown is not None, code)
        return f"{code}```" + (f"\n\n```text\n{printed}```" if printed else "")

    def skip_unless_pinned(self, *packages):
        """Other versions of packages print and draw slightly differently."""
        pinned = (pathlib.Path(__file__).parent / "requirements.txt").read_text().split()
        for package in packages:
            version = importlib.metadata.version(package)
            if f"{package}=={version}" not in pinned:
                self.skipTest(f"the gallery was printed and drawn by another {package} than {version}")

    def write_small(self, figure):
        """Saves with few colours, which halves the file size."""
        from PIL import Image

        few = Image.open(figure).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(ROOT / "docs/gallery" / figure, optimize=True)

    def expect_same(self, figure):
        from matplotlib.testing.compare import compare_images

        expected = self.folder / f"expected-{figure}"
        expected.write_bytes((ROOT / "docs/gallery" / figure).read_bytes())  # files of differences are written next to it
        self.assertIsNone(compare_images(expected, figure, LARGEST_DIFFERENCE))


if __name__ == "__main__":
    main()
