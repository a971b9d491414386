# SPDX-License-Identifier: Apache-2.0
"""An AnnData's cells and genes as covariates and responses, and the results in it, by Scanpy's conventions."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._columns import made_by, names_in
from ._errors import InputError, UsageError
from ._lineages import Lineages, lineages


def is_adata(data: Any) -> bool:
    return made_by("anndata", data) and hasattr(data, "obs") and hasattr(data, "var_names")


class Cells:
    """The call `fit_many(adata, formula, family)`, or with pseudotimes in place of the formula."""

    def __init__(
        self, adata: Any, formula: str | None, family: str | None, weights: Any, layer: str | None, use_raw: bool | None
    ) -> None:
        self._adata, self._weights = adata, weights
        self.is_view = bool(adata.is_view)
        self.counts = matrix_of(adata, layer, bool(use_raw))
        self._params = {"layer": layer, "use_raw": use_raw}
        self._model: Lineages | None = None
        self.formula, self.family = formula, family
        self.covariates: Any = None

    def build_model(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Sets the formula from pseudotimes, if they are given; returns the knots as an option."""
        given = {name: one for name, one in given.items() if one is not None}
        if "pseudotime" not in given:
            if given:
                raise UsageError(f"{next(iter(given))} needs pseudotime: give it too, or a formula alone")
            if self.formula is None:
                raise UsageError("a formula is missing: give it, such as 's(t, by=lineage)', or pseudotime")
        else:
            if self.formula is not None:
                raise UsageError("the formula is that of pseudotime: leave one of them out")
            self._model = self.model_of(given)
            self.formula = self._model.formula
            self.family = self.family or "nb"
        self.covariates = self._covariates() if self._model is None else self._model.covariates
        return {} if self._model is None else {"knots": self._model.knots}

    def model_of(self, given: Mapping[str, Any], offset: Any = None) -> Lineages:
        """The model of pseudotimes; `offset` in place of that of the counts."""
        named = ("pseudotime", "cell_weights", "conditions", "batch")
        resolved = {name: self._named(one) if name in named else one for name, one in given.items()}
        return lineages(**resolved, counts=self.counts if offset is None else None, offset=offset)

    def store(self, fits: Any, key: str) -> None:
        """Writes the results into the AnnData: numbers of genes to var, coefficients to varm, and what was asked for to
        uns."""
        adata = self._adata
        by_gene = fits.fits.set_index("response").join(fits.tests.set_index("response"))
        coefficients = [name[3:] for name in by_gene.columns if name.startswith("se:")]
        by_gene = by_gene.reindex(adata.var_names)
        of_coefficients = {*coefficients, *(f"se:{name}" for name in coefficients)}
        for name in by_gene.columns:
            if name not in of_coefficients:
                adata.var[f"{key}_{name}"] = _writable(by_gene[name])
        adata.varm[f"{key}_coef"] = by_gene[coefficients]
        adata.varm[f"{key}_se"] = by_gene[[f"se:{name}" for name in coefficients]].set_axis(coefficients, axis=1)
        params = {"formula": self.formula, "family": self.family or "gaussian", **self._params}
        adata.uns[key] = {"params": {name: one for name, one in params.items() if one is not None}}
        if self._model is not None:
            adata.uns[key]["knots"] = {name: np.array(knots) for name, knots in self._model.knots.items()}
            adata.uns[key]["lineage"] = self._model.assigned

    def _named(self, given: Any) -> Any:
        """A matrix of obsm or columns of obs by name, or the values themselves."""
        obs, obsm = self._adata.obs, self._adata.obsm
        if isinstance(given, str):
            if given in obsm:
                return np.asarray(obsm[given])
            if given not in obs:
                raise InputError(f"obs and obsm have no '{given}'")
            return obs[given]
        if isinstance(given, (list, tuple)) and given and all(isinstance(name, str) and name in obs for name in given):
            return obs[list(given)]
        return given

    def _covariates(self) -> Any:
        """obs, with the columns of obsm that the formula names, as X_umap_1."""
        frame = self._adata.obs
        read = names_in(f"{self.formula} + {self._weights}" if isinstance(self._weights, str) else str(self.formula))
        for key in self._adata.obsm:
            wanted = [name for name in read if name.startswith(f"{key}_") and name not in frame]
            matrix = np.asarray(self._adata.obsm[key]) if wanted else np.empty((0, 0))
            columns = {f"{key}_{j + 1}": matrix[:, j] for j in range(matrix.shape[1])}
            frame = frame.assign(**{name: columns[name] for name in wanted if name in columns})
        return frame


def _writable(column: Any) -> Any:
    """Categories as objects, which every version of anndata writes."""
    if column.dtype.name != "category":
        return column
    return column.cat.rename_categories(column.cat.categories.astype(object))


def matrix_of(adata: Any, layer: str | None, use_raw: bool) -> SimpleNamespace:
    """The responses: X, a layer, or X of raw."""
    if layer is not None and use_raw:
        raise UsageError("layer and use_raw name two matrices: give one")
    if layer is not None and layer not in adata.layers:
        raise InputError(f"the AnnData has no layer '{layer}': it has {', '.join(adata.layers) or 'none'}")
    if use_raw and adata.raw is None:
        raise InputError("the AnnData has no raw: leave use_raw out, or name a layer")
    holder = adata.raw if use_raw else adata
    names = holder.var_names
    if not names.is_unique:
        raise InputError("names of genes occur twice: call adata.var_names_make_unique() first")
    matrix = holder.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise InputError("the AnnData has no X: name a layer")
    if hasattr(matrix, "to_memory"):  # of a backed file
        matrix = matrix.to_memory()
    elif made_by("h5py", matrix):
        matrix = matrix[()]
    return SimpleNamespace(X=matrix, obs_names=adata.obs_names, var_names=names, layers=adata.layers)
