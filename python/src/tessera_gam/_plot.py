# SPDX-License-Identifier: Apache-2.0
"""Plots of smooths with matplotlib."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ._columns import Columns, Factor, Numbers
from ._errors import UsageError

_RESULTS = {"fit", "se", "lower", "upper", "lower.simultaneous", "upper.simultaneous"}


@dataclass
class _Curve:
    """Rows of the table of smooths for one smooth and one combination of levels."""

    smooth: str
    levels: dict[str, str]  # levels of the smooth's factors
    numbers: dict[str, Numbers]  # values of the smooth's variables
    results: dict[str, Numbers]

    @property
    def label(self) -> str:
        return ", ".join(self.levels.values())


@dataclass
class PartialResiduals:
    """The residuals of rows, the contribution of each smooth to these rows, and the smooths' variables."""

    residuals: Numbers
    terms: dict[str, Numbers]
    variables: Columns

    def of(self, curve: _Curve) -> tuple[Numbers, Numbers]:
        """The partial residuals of the rows to which a curve applies."""
        [name] = curve.numbers
        x, term = self.variables.get(name), self.terms.get(curve.smooth)
        if x is None or term is None or isinstance(x, Factor):
            return np.empty(0), np.empty(0)
        rows = np.ones(len(x), bool)
        for factor, level in curve.levels.items():
            column = self.variables[factor]
            assert isinstance(column, Factor)
            rows &= column.codes == column.levels.index(level)
        return x[rows], (term + self.residuals)[rows]


@dataclass
class _Plot:
    title: str
    curves: list[_Curve] = field(default_factory=list)
    levels: list[str] = field(default_factory=list)  # levels of a random effect
    is_multiplied: bool = False  # by a numeric variable


def _plots(columns: Columns) -> list[_Plot]:
    """The plots: one for each smooth, with curves for all levels of a by factor together."""
    smooth = columns["smooth"]
    assert isinstance(smooth, Factor)
    factors = {name: c for name, c in columns.items() if isinstance(c, Factor) and name != "smooth"}
    numbers = {name: c for name, c in columns.items() if not isinstance(c, Factor) and name not in _RESULTS}
    results = {name: c for name, c in columns.items() if not isinstance(c, Factor) and name in _RESULTS}
    plots: dict[str, _Plot] = {}
    for code in dict.fromkeys(smooth.codes.tolist()):
        label = smooth.levels[code]
        rows = np.flatnonzero(smooth.codes == code)
        own = {name: c.codes[rows] for name, c in factors.items() if (c.codes[rows] >= 0).all()}
        variables = [name for name, values in numbers.items() if not np.isnan(values[rows]).any()]
        title = label
        for name, codes in own.items():
            by = f":{name}{factors[name].levels[codes[0]]}"
            if label.endswith(by) and (codes == codes[0]).all():
                title = label.removesuffix(by) + f":{name}"
        plot = plots.setdefault(title, _Plot(title))
        # A numeric by variable is 1 in all rows.
        varied = [name for name in variables if np.ptp(numbers[name][rows]) > 0] or variables
        plot.is_multiplied = varied != variables
        variables = varied
        if not variables:
            plot.levels = [
                ", ".join(factors[name].levels[codes[i]] for name, codes in own.items()) for i in range(len(rows))
            ]
        combinations = np.column_stack(list(own.values())) if own and variables else np.zeros((len(rows), 0))
        for combination in np.unique(combinations, axis=0):
            of = rows[(combinations == combination).all(axis=1)]
            plot.curves.append(
                _Curve(
                    label,
                    {name: factors[name].levels[int(c)] for name, c in zip(own, combination, strict=False)},
                    {name: numbers[name][of] for name in variables},
                    {name: values[of] for name, values in results.items()},
                )
            )
    return list(plots.values())


def _split_surfaces(plots: list[_Plot]) -> list[_Plot]:
    """Surfaces, each as a separate plot."""
    split = []
    for plot in plots:
        if len(plot.curves[0].numbers) < 2 or len(plot.curves) == 1:
            split.append(plot)
        else:
            split += [_Plot(f"{plot.title}, {curve.label}", [curve]) for curve in plot.curves]
    return split


def _axes(count: int, given: Any) -> Any:
    """An array of axes, one for each plot: the given axes, or new ones."""
    import matplotlib.pyplot as plt

    if given is None:
        across = min(count, 3)
        down = -(-count // across)
        figure, grid = plt.subplots(down, across, figsize=(4 * across, 3.2 * down), squeeze=False, layout="constrained")
        for unused in grid.ravel()[count:]:
            figure.delaxes(unused)
        return grid.ravel()[:count]
    axes = np.atleast_1d(np.asarray(given, object))
    if axes.size != count:
        raise UsageError(f"{axes.size} axes are given, but there are {count} plots: give one for each")
    return axes


def plot_smooths(
    columns: Columns,
    rug: dict[str, Numbers],
    too_far: float,
    given: Any = None,
    partial: PartialResiduals | None = None,
) -> Any:
    """Draws every smooth in the table `smooths`, curves with their partial residuals; returns the axes. Leaves surfaces
    white at points farther than `too_far` from the rug, in units of the surface's width and height.
    """
    plots = _split_surfaces(_plots(columns))
    if not plots:
        raise UsageError("the model has no smooths to plot: print(m.summary()) shows its coefficients")
    axes = _axes(len(plots), given)
    for plot, axis in zip(plots, axes.flat, strict=True):
        dimensions = len(plot.curves[0].numbers)
        if dimensions == 0:
            _draw_effect(axis, plot)
        elif dimensions == 1:
            _draw_curves(axis, plot, rug, partial)
        else:
            _draw_surface(axis, plot, rug, too_far)
        axis.set_title(plot.title)
    return axes


def plot_residuals(quantiles: dict[str, Any], given: Any = None) -> Any:
    """Draws quantile residuals, which are standard normal if the model is true; returns the axes."""
    axes = _axes(2, given)
    against, histogram = axes.flat
    normal, residuals = np.array(quantiles["normal"]), np.array(quantiles["residuals"])
    against.fill_between(normal, quantiles["lower"], quantiles["upper"], color="0.85", linewidth=0)
    against.axline((0, 0), slope=1, color="0.5", linewidth=0.8)
    against.plot(normal, residuals, ".", markersize=3)
    against.set_xlabel("normal quantiles")
    against.set_ylabel("quantile residuals")
    histogram.hist(residuals, bins="auto", density=True, color="0.8")
    lowest, highest = histogram.get_xlim()
    x = np.linspace(lowest, highest, 200)
    histogram.plot(x, np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))
    histogram.set_xlabel("quantile residuals")
    histogram.set_ylabel("density")
    return axes


_MOST_NAMED_CURVES = 10


def _draw_curves(axis: Any, plot: _Plot, rug: dict[str, Numbers], partial: PartialResiduals | None) -> None:
    is_named = 1 < len(plot.curves) <= _MOST_NAMED_CURVES
    has_bands = len(plot.curves) <= _MOST_NAMED_CURVES
    for curve in plot.curves:
        [(name, x)] = curve.numbers.items()
        (line,) = axis.plot(x, curve.results["fit"], label=curve.label if is_named else None)
        if has_bands and "lower" in curve.results:
            lower, upper = curve.results["lower"], curve.results["upper"]
            axis.fill_between(x, lower, upper, color=line.get_color(), alpha=0.2, linewidth=0)
        if has_bands and partial is not None and not plot.is_multiplied:
            axis.plot(*partial.of(curve), ".", color=line.get_color(), markersize=2, alpha=0.4, zorder=1)
    if name in rug:
        # Ticks with a height in axes coordinates, independent of the curve.
        axis.vlines(rug[name], 0, 0.03, transform=axis.get_xaxis_transform(), color="0.3", linewidth=0.4)
    axis.set_xlabel(name)
    axis.set_ylabel("effect")
    if is_named:
        axis.legend()


def _draw_effect(axis: Any, plot: _Plot) -> None:
    """Draws levels of a random effect against normal quantiles."""
    from statistics import NormalDist

    effects = np.sort(np.concatenate([curve.results["fit"] for curve in plot.curves]))
    quantiles = [NormalDist().inv_cdf((i + 0.5) / len(effects)) for i in range(len(effects))]
    axis.plot(quantiles, effects, "o", markersize=3)
    axis.set_xlabel("normal quantiles")
    axis.set_ylabel("effects of levels")


def _draw_surface(axis: Any, plot: _Plot, rug: dict[str, Numbers], too_far: float) -> None:
    """Draws a map over the first two variables; the others are in the middle of their grid."""
    [curve] = plot.curves
    (x_name, x), (y_name, y), *others = curve.numbers.items()
    rows = np.ones(len(x), bool)
    for name, values in others:
        middle = np.unique(values)[len(np.unique(values)) // 2]
        rows &= values == middle
        plot.title += f" at {name} = {middle:.3g}"
    xs, columns = np.unique(x[rows], return_inverse=True)
    ys, lines = np.unique(y[rows], return_inverse=True)
    surface = np.full((len(ys), len(xs)), np.nan)
    surface[lines, columns] = curve.results["fit"][rows]
    if x_name in rug and y_name in rug:
        surface[~_near(xs, ys, rug[x_name], rug[y_name], too_far)] = np.nan
    largest = np.nanmax(np.abs(surface)) or 1
    filled = axis.pcolormesh(xs, ys, surface, cmap="RdBu_r", vmin=-largest, vmax=largest, shading="nearest")
    axis.contour(xs, ys, surface, colors="0.2", linewidths=0.6)
    if x_name in rug and y_name in rug:
        axis.plot(rug[x_name], rug[y_name], ".", color="0.2", markersize=1, alpha=0.5)
    axis.figure.colorbar(filled, ax=axis)
    axis.set_xlabel(x_name)
    axis.set_ylabel(y_name)


def _near(xs: Numbers, ys: Numbers, x: Numbers, y: Numbers, distance: float) -> npt.NDArray[np.bool_]:
    """Whether each point of a grid (rows: y, columns: x) has a given point within this distance."""
    to_x = (xs[:, None] - x) / np.ptp(xs)
    to_y = (ys[:, None] - y) / np.ptp(ys)
    return np.array([(to_x**2 + of_line**2 <= distance**2).any(axis=1) for of_line in to_y])
