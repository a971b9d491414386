# SPDX-License-Identifier: Apache-2.0
"""The number of knots of tradeSeq's model, by the AIC of some genes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._adata import Cells, is_adata
from ._columns import result_frame
from ._errors import UsageError
from ._many import fit_many


def evaluate_k(
    adata: Any,
    pseudotime: Any,
    cell_weights: Any = None,
    *,
    conditions: Any = None,
    batch: Any = None,
    layer: str | None = None,
    use_raw: bool | None = None,
    k: Sequence[int] = range(3, 11),
    genes: int = 500,
    seed: int = 1,
    family: str = "nb",
    threads: int | None = None,
) -> Any:
    """The AIC of some genes by the number of knots of the model that `lineages` makes, as tradeSeq's evaluateK: to
    choose k of `fit_many(adata, pseudotime=…, k=…)`.

    Parameters
    ----------
    adata
        An AnnData.
    pseudotime, cell_weights, conditions, batch, layer, use_raw
        As for `fit_many(adata, …)`.
    k
        The numbers of knots.
    genes
        Number of genes to fit, drawn at random. Offsets are of all genes.
    seed
        Seed of the genes and of the cells' lineages.
    family, threads
        As for `fit_many`.

    Returns
    -------
    A frame with a row for each gene and the columns "response" and "aic:k=3", …; NaN for a fit that has not converged.
    Compare the means of the columns over the genes that have all of them.
    """
    if not is_adata(adata):
        raise UsageError("evaluate_k needs an AnnData: compare the column aic of fit_many for models of lineages(k=…)")
    cells = Cells(adata, None, family, None, layer, use_raw)
    names = np.asarray(cells.counts.var_names)
    drawn = np.sort(np.random.default_rng(seed).permutation(len(names))[:genes])
    matrix = cells.counts.X[:, drawn]
    given = {
        "pseudotime": pseudotime,
        "cell_weights": cell_weights,
        "conditions": conditions,
        "batch": batch,
        "seed": seed,
    }
    columns: dict[str, Any] = {"response": names[drawn]}
    offset = None
    for size in k:
        model = cells.model_of({**given, "k": size}, offset)
        offset = model.covariates["offset"]
        fits = fit_many(
            model.covariates, matrix, model.formula, family, names=[*names[drawn]], knots=model.knots, threads=threads
        ).fits
        converged = np.asarray(fits["status"], str) == "converged"
        columns[f"aic:k={size}"] = np.where(converged, np.asarray(fits["aic"], float), np.nan)
    return result_frame(columns)
