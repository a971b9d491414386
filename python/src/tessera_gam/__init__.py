# SPDX-License-Identifier: Apache-2.0
"""Generalized additive models of data frames, with the results of mgcv's bam.

>>> from tessera_gam import GAM, columns
>>> columns("table.csv")                                         # doctest: +SKIP
>>> m = GAM("y ~ s(x) + region", family="poisson").fit(frame)    # doctest: +SKIP
>>> m.summary()                                                  # doctest: +SKIP
>>> m.predict(new, type="response", se=True)                     # doctest: +SKIP
"""

from ._describe import columns
from ._errors import (
    DeviceAbsentError,
    FaultError,
    FormulaError,
    InputError,
    NotConvergedError,
    TesseraError,
    TesseraWarning,
    UsageError,
)
from ._evaluate_k import evaluate_k
from ._gam import GAM
from ._lineages import Lineages, lineages
from ._many import ManyFits, fit_many
from ._native import library_version
from ._quantiles import fit_quantiles
from ._report import Report

__all__ = [
    "GAM",
    "DeviceAbsentError",
    "FaultError",
    "FormulaError",
    "InputError",
    "Lineages",
    "ManyFits",
    "NotConvergedError",
    "Report",
    "TesseraError",
    "TesseraWarning",
    "UsageError",
    "columns",
    "evaluate_k",
    "fit_many",
    "fit_quantiles",
    "lineages",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        return library_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
