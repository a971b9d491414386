# SPDX-License-Identifier: Apache-2.0
"""Tables and results of the library."""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from ctypes import byref, c_char_p
from dataclasses import replace
from typing import Any

import numpy as np

from . import _native
from ._columns import Column, Columns, Data, Factor, File, aligned, column_of, is_chosen, rows_of
from ._errors import InputError


def columns_of(
    data: Data | File,
    names: set[str] | None,
    extra: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Columns:
    """The columns with these names, and extra columns. None: all numbers and factors, and `tell` is told of the others;
    a name ".": all columns. Empty for a file.
    """
    if isinstance(data, File):
        if extra:
            raise InputError(f"{data.path}: give weights, offset and subset as names of its columns, or as expressions")
        return {}
    columns = {}
    for name in data.names:
        if is_chosen(name, names):
            try:
                columns[name] = column_of(name, data.column(name))
            except InputError as refused:
                if names is not None:
                    raise
                tell(f"left out: {refused}")
    for name, values in (extra or {}).items():
        told = name.removeprefix(".")
        columns[name] = column_of(told, aligned(told, values, data.index))
    return columns


class Table(_native.Handle):
    """Rows for a call. The library reads numbers in place, so this object keeps them alive."""

    def __init__(
        self,
        data: Data | File,
        columns: Columns,
        options: Iterable[_native.Option] = (),
    ) -> None:
        """A table of these columns of the data; for a file, a table of the file."""
        super().__init__("table")
        request = _native.request(options)
        self.data = data
        self.is_empty = isinstance(data, Data) and data.rows == 0
        if self.is_empty:  # a table of the library needs a row: add one without values
            columns = {name: _missing_row(column) for name, column in columns.items()}
        self.columns = columns
        self.file = data if isinstance(data, File) else None
        if isinstance(data, File):
            paths = (c_char_p * len(data.paths))(*(_native.encoded_path(path) for path in data.paths))
            _native.call("table_of_files", paths, len(paths), byref(request), self.to)
            return
        _native.call("table_open", max(1, data.rows), byref(request), self.to)
        for name, column in columns.items():
            self._add(name, column)

    def _add(self, name: str, column: Column) -> None:
        encoded = _native.encoded(name, "a column's name")
        if not isinstance(column, Factor):
            _native.call("table_add_numbers", self.number, encoded, column.ctypes.data, len(column))
            return
        levels = (c_char_p * len(column.levels))(
            *(_native.encoded(one, f"a level of '{name}'") for one in column.levels)
        )
        _native.call(
            "table_add_factor",
            self.number,
            encoded,
            column.codes.ctypes.data,
            len(column.codes),
            levels,
            len(column.levels),
            2 if column.is_ordered else int(column.keeps_order),
        )


def _missing_row(column: Column) -> Column:
    if isinstance(column, Factor):
        return replace(column, codes=np.full(1, -1, np.int32))
    return np.full(1, np.nan)


_UNKNOWN = re.compile(r"(.*unknown column '(.*?)')(?: \(did you mean .*\?\))?; it has: ", re.DOTALL)
_MOST_NAMES = 20


@contextlib.contextmanager
def naming_columns(*tables: Table) -> Iterator[None]:
    """Reports an unknown column, listing all of the caller's columns: the library has only some of them."""
    try:
        yield
    except InputError as refused:
        found = _UNKNOWN.match(str(refused))
        of_caller = [table.data.names for table in tables if isinstance(table.data, Data)]
        names = next((names for names in of_caller if found and found[2] not in names), None)
        if found is None or names is None:
            raise
        raise InputError(f"{found[1]}{_nearest(found[2], names)}; {_list_of(names)}") from None


def _nearest(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    nearest = [one for one in names if one.lower() == name.lower()] or get_close_matches(name, names[:10_000], 1)
    return f" (did you mean '{nearest[0]}'?)" if nearest else ""


def _list_of(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"it has: {', '.join(names[:_MOST_NAMES])}{more}" if names else "it has no columns"


class Answer(_native.Handle):
    """A table of results; `columns` copies its columns."""

    def __init__(self, is_empty: bool = False) -> None:
        """`is_empty`: the table has no rows."""
        super().__init__("answer")
        self.is_empty = is_empty

    def extent(self) -> _native.AnswerInfo:
        info = _native.AnswerInfo(size=ctypes.sizeof(_native.AnswerInfo))
        _native.call("answer_extent", self.number, byref(info))
        return info

    def columns(self, kept_first: bool = False) -> Columns:
        """Computed columns by name, then columns kept from the table or grid; or in the reverse order."""
        extent = self.extent()
        computed = extent.columns - extent.kept
        order: Iterable[int] = range(extent.columns)
        if kept_first:
            order = [*range(computed, extent.columns), *range(computed)]
        columns = dict(self._column(index, extent.rows) for index in order)
        if not self.is_empty:
            return columns
        none = np.arange(0)
        return {name: rows_of(column, none) for name, column in columns.items()}

    def remarks(self) -> list[str]:
        def remark(index: int) -> str:
            given = c_char_p()
            _native.call("answer_remark", self.number, index, byref(given))
            return (given.value or b"").decode()

        return [remark(index) for index in range(self.extent().remarks)]

    def _column(self, index: int, rows: int) -> tuple[str, Column]:
        info = _native.ColumnInfo(size=ctypes.sizeof(_native.ColumnInfo))
        _native.call("answer_column", self.number, index, byref(info))
        name = info.name.decode()
        if not info.is_factor:
            numbers = np.empty(rows)
            _native.call("answer_numbers", self.number, index, numbers.ctypes.data, rows)
            return name, numbers
        codes = np.empty(rows, np.int32)
        _native.call("answer_codes", self.number, index, codes.ctypes.data, rows)
        levels = []
        for level in range(info.levels):
            given = c_char_p()
            _native.call("answer_level", self.number, index, level, byref(given))
            levels.append((given.value or b"").decode())
        return name, Factor(codes, levels)
