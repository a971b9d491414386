# SPDX-License-Identifier: Apache-2.0
"""Where the library cannot be loaded, models are read and predict by numpy."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
from support import InFolder, main, needs, rows

from tessera_gam import GAM


class Portable(InFolder):
    def python(self, code):
        """What a process without the library prints."""
        environment = os.environ | {"TESSERA_GAM_LIBRARY": "/none", "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=environment, cwd=self.folder, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_predictions(self):
        data, new = rows(), rows(50, seed=2)
        new["x"][3] = np.nan
        data["y"] = np.round(np.exp(data["y"]))
        model = GAM("y ~ g + s(x, by=g, k=6) + te(x, z, k=4)", family="poisson").fit(data)
        model.save(self.folder / "model.json")
        np.savez(self.folder / "new.npz", **new)
        self.python("""
            import numpy as np
            from tessera_gam import GAM
            new = dict(np.load("new.npz"))
            model = GAM.load("model.json")
            np.savez("fit.npz", link=model.predict(new), response=model.predict(new, type="response"))
        """)
        found = np.load(self.folder / "fit.npz")
        for kind in ("link", "response"):
            np.testing.assert_allclose(found[kind], model.predict(new, type=kind), rtol=1e-10)

    @needs("pandas")
    def test_frames(self):
        GAM("y ~ s(x)").fit(rows()).save(self.folder / "model.json")
        printed = self.python("""
            import pandas as pd
            from tessera_gam import GAM
            print(GAM.load("model.json").predict(pd.DataFrame({"x": [0.2, 0.4]}, index=["a", "b"])).index.tolist())
        """)
        self.assertEqual(printed, "['a', 'b']\n")

    def test_what_it_cannot_do_says_why(self):
        GAM("y ~ s(x)").fit(rows()).save(self.folder / "model.json")
        printed = self.python("""
            from tessera_gam import GAM
            model = GAM.load("model.json")
            for call in (
                lambda: model.predict({"x": [1.0]}, se=True),
                lambda: model.predict({"x": [1.0]}, type="terms"),
                lambda: model.predict("new.csv"),
                lambda: model.predict({"z": [1.0]}),
                lambda: model.summary(),
                lambda: GAM("y ~ x").fit({"x": [1.0], "y": [1.0]}),
            ):
                try:
                    call()
                except Exception as refused:
                    print(type(refused).__name__, refused)
        """).splitlines()
        self.assertEqual(len(printed), 6)
        for line, words in zip(printed, ["se: ", "type='terms': ", "new.csv: ", "no column x", "", ""], strict=True):
            self.assertIn(words, line)
            self.assertIn("TESSERA_GAM_LIBRARY", line)


if __name__ == "__main__":
    main()
