# SPDX-License-Identifier: Apache-2.0
"""Tables and answers of the library."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from ctypes import byref, c_char_p
from typing import Any

import numpy as np

from . import _native
from ._columns import Column, Columns, Data, Factor, File, column_of, is_chosen
from ._errors import InputError


def columns_of(data: Data | File, names: set[str] | None, extra: Mapping[str, Any] | None = None) -> Columns:
    """The columns with these names (None: all that are numbers or factors; with ".": all), and extra ones; none of a
    file.
    """
    if isinstance(data, File):
        if extra:
            raise InputError(f"{data.path}: weights, offset and subset of a file are its columns, or expressions")
        return {}
    columns = {}
    for name in data.names:
        if is_chosen(name, names):
            try:
                columns[name] = column_of(name, data.column(name))
            except InputError:
                if names is not None:
                    raise
    return {**columns, **{name: column_of(name, values) for name, values in (extra or {}).items()}}


class Table(_native.Handle):
    """Rows for a call. The library reads numbers where they are: they live as long as this object."""

    def __init__(
        self,
        data: Data | File,
        columns: Columns,
        options: Iterable[_native.Option] = (),
    ) -> None:
        """Of the columns of the data, those of a file being its own."""
        super().__init__("table")
        request = _native.request(options)
        self.columns = columns
        self.file = data if isinstance(data, File) else None
        if isinstance(data, File):
            _native.call("table_of_file", data.path.encode(), byref(request), self.to)
            return
        _native.call("table_open", data.rows, byref(request), self.to)
        for name, column in columns.items():
            self._add(name, column)

    def _add(self, name: str, column: Column) -> None:
        if not isinstance(column, Factor):
            _native.call("table_add_numbers", self.number, name.encode(), column.ctypes.data, len(column))
            return
        levels = (c_char_p * len(column.levels))(*(level.encode() for level in column.levels))
        _native.call(
            "table_add_factor",
            self.number,
            name.encode(),
            column.codes.ctypes.data,
            len(column.codes),
            levels,
            len(column.levels),
            column.keeps_order,
        )


class Answer(_native.Handle):
    """A table of results, of which `columns` copies the columns."""

    def __init__(self) -> None:
        super().__init__("answer")

    def extent(self) -> _native.AnswerInfo:
        info = _native.AnswerInfo(size=ctypes.sizeof(_native.AnswerInfo))
        _native.call("answer_extent", self.number, byref(info))
        return info

    def columns(self, kept_first: bool = False) -> Columns:
        """What was computed by name, then what was kept of the table or the grid; or the other way round."""
        extent = self.extent()
        computed = extent.columns - extent.kept
        order: Iterable[int] = range(extent.columns)
        if kept_first:
            order = [*range(computed, extent.columns), *range(computed)]
        return dict(self._column(index, extent.rows) for index in order)

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
