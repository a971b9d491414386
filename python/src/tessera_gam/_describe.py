# SPDX-License-Identifier: Apache-2.0
"""Describes a table before a fit."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_char_p
from typing import Any

from . import _native
from ._columns import data_of
from ._report import Report, report_of
from ._errors import InputError
from ._table import Table, columns_of, naming_columns


def columns(
    data: Any,
    names: Sequence[str] | str | None = None,
    *,
    # Options: table -block-rows job.threads
    na_strings: Sequence[str] | str | None = None,
    factor: Sequence[str] | str | None = None,
    numeric: Sequence[str] | str | None = None,
    date: Sequence[str] | str | None = None,
    sep: str | None = None,
    dec: str | None = None,
    comment: str | None = None,
    header: bool | None = None,
    skip: int | None = None,
    threads: int | None = None,
    # End of options
) -> Report:
    """Describes the columns of a table as a fit would read them, in one pass, like `tessera-fit columns`.

    `print(columns("table.csv"))` shows types, missing values, memory, and ranges or levels; `frame("columns")` gives
    them as a data frame, and ["columns"] as a list of dicts. The report shows columns that a fit would refuse: texts
    among numbers, with the place of the first text, and factors with too many levels.

    Parameters
    ----------
    data
        A table of any kind that `GAM.fit` takes.
    names
        Describe only these columns.
    na_strings
        Of files: fields that mean a missing value: ['NA', ''] are NA and the empty field (default: NA).
    factor
        Of files: columns to read as factors, even if numeric.
    numeric
        Of files: columns to read as numbers, even if quoted.
    date
        Of files: columns of ISO dates, read as days since 1970-01-01, or of times, as seconds since 1970-01-01 UTC.
    sep
        Of text files: the separator of fields, a character or 'tab' (default: found in the first 100 rows).
    dec
        Of text files: the decimal mark, '.' or ',' (default: found in the first 100 rows).
    comment
        Of text files: skip lines that begin with this character, such as '#'.
    header
        Of text files: whether the first row names the columns; otherwise they are V1, V2, ... (default: True).
    skip
        Of text files: number of lines to skip before the table (default: 0).
    threads
        Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
    """
    of_table = {name: value for name, value in locals().items() if name not in ("data", "names", "threads")}
    wanted = [] if names is None else [names] if isinstance(names, str) else [*names]
    read = {*wanted} or None
    found = data_of(data, read, not _native.reads_hdf5())
    table = Table(found, columns_of(found, read, tell=_native.warn), _native.option_texts(of_table))
    if table.is_empty:
        raise InputError("the data have no rows: give one or more")
    chosen = (c_char_p * len(wanted))(*(_native.encoded(name, "a column's name") for name in wanted))
    with naming_columns(table):
        return report_of(
            _native.interruptible(
                lambda call: _native.text("columns", table.number, chosen, len(wanted), call, _native.BOTH_FORMS),
                _native.option_texts({"threads": threads}),
            )
        )
