# SPDX-License-Identifier: Apache-2.0
"""Reports: as text, and as data."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from . import _native
from ._columns import result_frame
from ._errors import UsageError


class Report:
    """A summary, an analysis of deviance, a check, or a description of columns.

    `print(report)` shows the text, a notebook shows tables. `data` has all numbers under the keys of `tessera-fit
    --json` (docs/fit.md); None: not known.
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
        """A list of rows in `data`, such as "smooths", as a data frame (without pandas a dict of arrays)."""
        return result_frame(columns_of(self.data[key]))

    def plot(self, axes: Any = None) -> Any:
        """Plots the quantile residuals of a check with matplotlib: against normal quantiles, with a pointwise band for
        95 % of samples, and as a histogram with the normal density. Draws on the two `axes`, if given, and returns
        them.
        """
        if "quantile_residuals" not in self.data:
            raise UsageError("only the report of check(data) is plotted; plot() of the model plots its smooths")
        from ._plot import plot_residuals

        return plot_residuals(self.data["quantile_residuals"], axes)

    def _repr_html_(self) -> str:
        return _html(self.text)


def columns_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns from rows of values: numbers (NaN: not known) or texts as objects (None: not known)."""
    columns: dict[str, Any] = {}
    for key in dict.fromkeys(key for row in rows for key in row):
        values = [row.get(key) for row in rows]
        if any(isinstance(value, str) for value in values):
            columns[key] = np.array(values, object)
        elif not any(isinstance(value, (list, dict)) for value in values):
            columns[key] = np.array([np.nan if value is None else value for value in values], np.float64)
    return columns


def report(function: str, *arguments: Any) -> Report:
    """The report from a library function that takes no `Call`."""
    return report_of(_native.text(function, *arguments, _native.BOTH_FORMS))


def report_of(both: str) -> Report:
    """A report from its two forms, text and JSON."""
    import json

    forms = json.loads(both)
    return Report(forms["text"].strip("\n"), forms["data"])


# A report in a notebook: its text, with tables for aligned lines.

_TITLE = re.compile(r"Std\. Error|[tz] value|Resid\. Dev|Resid\. Df|\S+")
_NUMBER = re.compile(r"-?[\d.]|[<-]?(NA|NaN|Inf|inf|nan)|<")
_LEFT = ' style="text-align: left"'

Row = tuple[str, list[str], str]  # a name, the cells, and the text after the cells


def _rows_at(lines: list[str]) -> list[Row]:
    """The title and rows of the table at the start of the lines; none if there is no table."""
    if not lines[0].startswith((" ", "lag ")):
        return []
    titles = list(_TITLE.finditer(lines[0]))
    ends = [title.end() for title in titles]
    rows: list[Row] = [("", [title[0] for title in titles], "")]
    for line in lines[1:]:
        # Cells end where the titles end; a row's name is before the first cell.
        cells = [line[begin:end].strip() for begin, end in zip([0, *ends], ends, strict=False)]
        name, _, first = cells[0].rpartition(" ")
        cells[0] = first
        is_row = _NUMBER.match(first) and not any(" " in cell for cell in cells)
        if not is_row or any(line[end : end + 1].strip() for end in ends):
            break
        rows.append((name.strip(), cells, line[ends[-1] :].strip()))
    return rows if len(rows) > 1 else []


def _html(text: str) -> str:
    lines = text.split("\n")
    parts: list[str] = []
    plain: list[str] = []
    while lines:
        rows = _rows_at(lines)
        plain += [] if rows else lines[:1]
        lines = lines[len(rows) or 1 :]
        if rows or not lines:
            between = "\n".join(plain).strip("\n")
            parts.append(f"<pre>{_escaped(between)}</pre>" if between else "")
            plain = []
        if rows:
            parts.append(_html_table(rows))
    return f"<div>{''.join(parts)}</div>"


def _html_table(rows: list[Row]) -> str:
    lines = []
    for number, (name, cells, more) in enumerate(rows):
        kind = "td" if number else "th"
        middle = "".join(f"<{kind}>{_escaped(cell)}</{kind}>" for cell in cells)
        lines.append(f"<tr><th{_LEFT}>{_escaped(name)}</th>{middle}<td{_LEFT}>{_escaped(more)}</td></tr>")
    return f"<table><thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody></table>"


def _escaped(text: str) -> str:
    import html

    return html.escape(text, quote=False)
