# SPDX-License-Identifier: Apache-2.0
"""Reports: a text for people, and all of it as data."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native
from ._columns import result_frame
from ._errors import UsageError


class Report:
    """A summary, an analysis of deviance or a check.

    `print(report)` shows the text, a notebook its tables. `data` has all numbers under the keys of
    `tessera-fit --json` (docs/fit.md), None where one is not known.
    """

    def __init__(self, text: str, data: dict[str, Any]) -> None:
        self.text = text
        self.data = data

    def __repr__(self) -> str:
        return self.text

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def keys(self) -> list[str]:
        """The keys of `data`."""
        return list(self.data)

    def frame(self, key: str) -> Any:
        """A list of rows, such as "smooths", as a data frame (without pandas a dict of arrays)."""
        return result_frame(columns_of(self.data[key]))

    def plot(self, axes: Any = None) -> Any:
        """Plots the quantile residuals of a check by matplotlib: against normal quantiles, with the band in which 95 % of
        samples lie at each of them, and as a histogram with the normal density. Draws on the two `axes`, if they are
        given, and returns them.
        """
        if "quantile_residuals" not in self.data:
            raise UsageError("only the report of check(data) is plotted; plot() of the model plots its smooths")
        from ._plot import plot_residuals

        return plot_residuals(self.data["quantile_residuals"], axes)

    def _repr_html_(self) -> str:
        numbers = {key: value for key, value in self.data.items() if not isinstance(value, (list, dict))}
        parts = [_html_table("", [{"": key, " ": value} for key, value in numbers.items() if value is not None])]
        parts += [
            _html_table(key, value)
            for key, value in self.data.items()
            if isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
        ]
        return "<div>" + "".join(parts) + "</div>"


def columns_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns of the rows' plain values: numbers, NaN where one is not known, or texts as objects."""
    columns: dict[str, Any] = {}
    for key in rows[0] if rows else ():
        values = [row[key] for row in rows]
        if any(isinstance(value, str) for value in values):
            columns[key] = np.array(values, object)
        elif not any(isinstance(value, (list, dict)) for value in values):
            columns[key] = np.array([np.nan if value is None else value for value in values], np.float64)
    return columns


def report(function: str, *arguments: Any) -> Report:
    """That of a function of the library, without a call."""
    return Report(_native.text(function, *arguments, 0).strip("\n"), numbers_of(_native.text(function, *arguments, 1)))


def numbers_of(text: str) -> Any:
    """What the JSON of a report has."""
    import json

    return json.loads(text)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return _escaped("" if value is None else str(value))


def _escaped(text: str) -> str:
    import html

    return html.escape(text)


def _html_table(title: str, rows: list[dict[str, Any]]) -> str:
    keys = [key for key in rows[0] if not isinstance(rows[0][key], (list, dict))] if rows else []
    head = "".join(f"<th>{_escaped(key.replace('_', ' '))}</th>" for key in keys)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row[key])}</td>" for key in keys) + "</tr>" for row in rows)
    caption = f"<caption>{_escaped(title.replace('_', ' '))}</caption>" if title else ""
    head = f"<thead><tr>{head}</tr></thead>" if head.strip("<>th/ ") else ""
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>"
