# SPDX-License-Identifier: Apache-2.0
"""The model of tradeSeq's fitGAM: a smooth of pseudotime for each lineage, as the arguments of `fit_many`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._columns import made_by
from ._errors import InputError, UsageError

_Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Lineages:
    """A model of cells on lineages, for `fit_many(it.covariates, counts, it.formula, "nb", knots=it.knots)`."""

    covariates: Any
    """t1, l1, t2, l2, …: pseudotimes, and 1 in the cells of a lineage (and condition); offset and batch, if there are
    any. A pandas frame if the pseudotimes are one; otherwise a dict of arrays."""
    formula: str
    knots: dict[str, list[float]]
    """The same for all lineages."""
    assigned: npt.NDArray[np.intp]
    """The lineage of each cell, from 0."""
    conditions: list[Any]
    """The conditions in sorted order: l2_1 are the cells of the second lineage in the first of them."""


def lineages(
    pseudotime: Any,
    cell_weights: Any = None,
    *,
    counts: Any = None,
    offset: Any = None,
    batch: Any = None,
    conditions: Any = None,
    k: int = 6,
    seed: int = 1,
) -> Lineages:
    """Makes the model of tradeSeq's `fitGAM`: one smooth of pseudotime for each lineage, with one smoothing parameter
    and one set of knots (docs/many.md).

    >>> cells = lineages(pseudotime, weights, counts=adata)                                        # doctest: +SKIP
    >>> many = fit_many(cells.covariates, adata[:, genes], cells.formula, "nb", knots=cells.knots,
    ...                 covariances=True)                                                          # doctest: +SKIP
    >>> many.test_curves("pattern")                                                                # doctest: +SKIP

    Parameters
    ----------
    pseudotime
        Cells x lineages, an array or a pandas frame. A cell needs no pseudotime (NaN) of a lineage without weight.
    cell_weights
        Cells x lineages: each cell is assigned to one lineage, with these probabilities after division by their sum. An
        assignment is repeated by its weights of 0 and 1. Not needed for one lineage.
    counts
        The counts of all genes, an array or sparse matrix of cells x genes, or an AnnData: the offset is the logarithm
        of effective library sizes, by the trimmed mean of M values as in edgeR.
    offset
        An offset of each cell in place of that of `counts`.
    batch
        The batch of each cell, a level of its own for each: tradeSeq's `U`.
    conditions
        The condition of each cell: a smooth for each lineage and condition.
    k
        Number of knots: quantiles of the pseudotimes of the assigned cells. The end of each lineage takes the place of
        the nearest, unless that is the first or the last.
    seed
        Seed of the assignment.
    """
    index = pseudotime.index if made_by("pandas", pseudotime) else None
    times = _matrix(pseudotime, "pseudotime")
    cells, count = times.shape
    if cells == 0:
        raise InputError("pseudotime has no cells: give one row for each")
    weights = _weights_of(cell_weights, index, times.shape)
    random = np.random.default_rng(seed)
    assigned: npt.NDArray[np.intp] = (random.random((cells, 1)) >= np.cumsum(weights, axis=1)[:, :-1]).sum(axis=1)
    own: _Numbers = times[np.arange(cells), assigned]
    if not np.isfinite(own).all():
        raise InputError(
            f"pseudotime of row {_first(~np.isfinite(own))} is missing in the lineage that it has a weight of"
        )
    for lineage in range(count):
        if not (assigned == lineage).any():
            raise InputError(f"lineage {lineage + 1} has no cells: leave it out, or give its cells weights")

    groups: list[tuple[str, Any]] = [("", np.ones(cells, bool))]
    levels: list[Any] = []
    if conditions is not None:
        of_cells = _of_cells(conditions, "conditions", cells)
        levels = sorted(set(of_cells.tolist()))
        groups = [(f"_{place}", of_cells == level) for place, level in enumerate(levels, 1)]
    columns: Any = {}
    terms = []
    for lineage in range(count):
        columns[f"t{lineage + 1}"] = np.where(np.isfinite(times[:, lineage]), times[:, lineage], 0.0)
        for suffix, in_group in groups:
            by = f"l{lineage + 1}{suffix}"
            columns[by] = ((assigned == lineage) & in_group).astype(float)
            if not columns[by].any():
                raise InputError(f"lineage {lineage + 1} has no cells of condition {levels[int(suffix[1:]) - 1]!r}")
            # A number that is 1 in all cells is no by variable: the smooth is that of the model's constant.
            of_all = "" if count == 1 and not levels else f"by={by}, "
            terms.append(f"s(t{lineage + 1}, {of_all}bs='cr', id=1, k={k})")
    if batch is not None:
        columns["batch"] = _of_cells(batch, "batch", cells).astype(str)
        terms.insert(0, "-1 + batch")
    if offset is None and counts is not None:
        offset = np.log(_effective_sizes(_rows_of(counts, index, cells)))
    if offset is not None:
        columns["offset"] = _of_cells(offset, "offset", cells).astype(float)
        terms.append("offset(offset)")
    knots = _knots_of(own, assigned, k)
    if index is not None:
        import pandas as pd

        columns = pd.DataFrame(columns, index=index)
    return Lineages(columns, " + ".join(terms), {f"t{one + 1}": knots for one in range(count)}, assigned, levels)


def _matrix(values: Any, name: str) -> _Numbers:
    numbers: _Numbers = np.asarray(values, dtype=float)
    if numbers.ndim == 1:
        numbers = numbers[:, None]
    if numbers.ndim != 2 or numbers.shape[1] == 0:
        raise InputError(f"{name} has {numbers.ndim} dimensions: give a column for each lineage")
    return numbers


def _first(wrong: Any) -> int:
    return int(np.argmax(wrong)) + 1


def _weights_of(cell_weights: Any, index: Any, shape: tuple[int, ...]) -> _Numbers:
    if cell_weights is None:
        if shape[1] > 1:
            raise UsageError(f"pseudotime has {shape[1]} lineages: give cell_weights, or an assignment of 0 and 1")
        return np.ones(shape)
    if index is not None and made_by("pandas", cell_weights) and not cell_weights.index.equals(index):
        raise InputError("pseudotime and cell_weights have different cells, or another order: give both the same index")
    weights = _matrix(cell_weights, "cell_weights")
    if weights.shape != shape:
        raise InputError(
            f"cell_weights are {weights.shape[0]} x {weights.shape[1]}, but pseudotime is {shape[0]} x {shape[1]}"
        )
    if not (weights >= 0).all():  # of NaN too
        raise InputError(
            f"a weight of row {_first(~(weights >= 0).all(axis=1))} is negative or missing: give 0 or more"
        )
    sums: _Numbers = weights.sum(axis=1)
    if not (sums > 0).all():
        raise InputError(f"row {_first(~(sums > 0))} has no weight in any lineage: leave the cell out")
    return weights / sums[:, None]


def _of_cells(values: Any, name: str, cells: int) -> npt.NDArray[Any]:
    of_cells = np.asarray(values)
    if of_cells.shape != (cells,):
        raise InputError(f"{name} has {of_cells.size} values for {cells} cells: give one for each")
    return of_cells


def _knots_of(own: _Numbers, assigned: npt.NDArray[Any], k: int) -> list[float]:
    """Quantiles of the cells' pseudotimes; the end of each lineage takes the place of the nearest between the ends."""
    if k < 3:
        raise UsageError(f"k is {k}: give 3 knots or more")
    knots = np.quantile(own, np.arange(k) / (k - 1))
    ends = np.array([own[assigned == lineage].max() for lineage in np.unique(assigned)])
    places = np.abs(knots - ends[:, None]).argmin(axis=1)
    inner = (places > 0) & (places < k - 1)
    knots[places[inner]] = ends[inner]
    if (np.diff(knots) <= 0).any():
        _native.warn("many cells have one pseudotime: knots are evenly spaced, not quantiles")
        knots = np.linspace(own.min(), own.max(), k)
    elif not np.isin(ends[inner], knots).all():
        _native.warn("not every lineage ends at a knot, because two ends are nearest to one: give more knots")
    return [float(knot) for knot in knots]


def _rows_of(counts: Any, index: Any, cells: int) -> Any:
    """The counts in the order of the cells: an array, or a sparse matrix by rows."""
    if hasattr(counts, "X") and hasattr(counts, "obs_names"):
        names, counts = counts.obs_names, counts.X
        if index is not None and not names.equals(index):
            places = names.get_indexer(index)
            if (places < 0).any():
                raise InputError(f"counts have no cell {index[_first(places < 0) - 1]!r}, which pseudotime has")
            counts = counts[places]
    if counts.shape[0] != cells:
        raise InputError(f"counts have {counts.shape[0]} rows for {cells} cells: give cells x genes")
    return counts.tocsr() if hasattr(counts, "tocsr") else np.asarray(counts)


def _effective_sizes(counts: Any) -> _Numbers:
    """Library sizes times the normalisation factors of Robinson and Oshlack, Genome Biology 11 (2010), R25."""
    sizes = np.asarray(counts.sum(axis=1), float).ravel()
    if not (sizes > 0).all():
        raise InputError(f"row {_first(~(sizes > 0))} of the counts has no count: leave the cell out")
    seen = np.flatnonzero(np.asarray(counts.sum(axis=0)).ravel() > 0)
    counts = counts[:, seen]

    def row(cell: int) -> _Numbers:
        one = counts[[cell]]
        return np.asarray(one.todense() if hasattr(one, "todense") else one, float).ravel()

    upper = np.array([np.quantile(row(cell), 0.75) for cell in range(len(sizes))]) / sizes
    if np.median(upper) < 1e-20:
        reference = int(np.argmax([np.sqrt(row(cell)).sum() for cell in range(len(sizes))]))
    else:
        reference = int(np.argmin(np.abs(upper - upper.mean())))
    of_reference, size = row(reference), sizes[reference]
    logarithms = np.array([_log_factor(row(cell), of_reference, sizes[cell], size) for cell in range(len(sizes))])
    factors: _Numbers = np.exp(logarithms - logarithms.mean())
    return sizes * factors


def _log_factor(own: _Numbers, reference: _Numbers, own_size: float, reference_size: float) -> float:
    """The weighted trimmed mean of the log ratios of two cells."""
    both = (own > 0) & (reference > 0)
    own, reference = own[both], reference[both]
    ratios = np.log2((own / own_size) / (reference / reference_size))
    means = (np.log2(own / own_size) + np.log2(reference / reference_size)) / 2
    if len(ratios) == 0 or np.abs(ratios).max() < 1e-6:
        return 0.0
    variances = (own_size - own) / own_size / own + (reference_size - reference) / reference_size / reference
    kept = _between(ratios, 0.3) & _between(means, 0.05)
    with np.errstate(all="ignore"):
        mean = np.nansum(ratios[kept] / variances[kept]) / np.nansum(1 / variances[kept])
    return float(mean * np.log(2)) if np.isfinite(mean) else 0.0


def _between(values: _Numbers, trim: float) -> npt.NDArray[np.bool_]:
    """Whether the rank of a value, of ties their mean rank, is not among the `trim` least or greatest."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    least = np.floor(len(values) * trim) + 1
    kept: npt.NDArray[np.bool_] = (ranks >= least) & (ranks <= len(values) + 1 - least)
    return kept
