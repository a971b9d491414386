# SPDX-License-Identifier: Apache-2.0
"""Models of several quantiles of one response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._gam import GAM
from ._native import log


def fit_quantiles(formula: str, data: Any, qu: Sequence[float], **options: Any) -> dict[float, GAM]:
    """Fits a model of each of several quantiles, as mqgam of R, and logs the number of rows in which they cross.

    Parameters
    ----------
    formula, data
        As of `GAM` and its `fit`.
    qu
        The quantiles, between 0 and 1.
    options
        Options of `GAM`, but for the family.

    Returns
    -------
    The models by their quantiles, in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from tessera_gam import fit_quantiles
    >>> x = np.linspace(0, 1, 300)
    >>> models = fit_quantiles("y ~ s(x)", {"x": x, "y": np.sin(6 * x) + np.cos(1e4 * x)}, [0.1, 0.9])
    >>> [round(float(m.predict({"x": [0.5]})[0])) for m in models.values()]
    [-1, 1]
    """
    models = {one: GAM(formula, family=f"elf(qu={one})", **options).fit(data) for one in sorted(map(float, qu))}
    predicted = np.array([np.asarray(model.predict(data), float) for model in models.values()])
    crossing = (np.diff(predicted, axis=0) < 0).any(axis=0).sum()
    log(f"quantiles cross in {crossing} rows of the table")
    return models
