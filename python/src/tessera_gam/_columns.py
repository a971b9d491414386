# SPDX-License-Identifier: Apache-2.0
"""Converts the caller's data to the library's columns and back: numbers, or levels with codes.

pandas, polars and pyarrow are imported only if the caller's data use them.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import InputError, UsageError
from ._native import encoded_path

Numbers = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Factor:
    """Levels, and for each row the index of its level; -1: missing."""

    codes: Codes
    levels: list[str]
    is_ordered: bool = False
    keeps_order: bool = False
    """Whether a model keeps the levels in this order; otherwise it sorts them."""


Column = npt.NDArray[Any] | Factor
Columns = Mapping[str, Column]


def made_by(package: str, data: object) -> bool:
    """Whether the data's class comes from a package; does not import the package."""
    return any(kind.__module__.partition(".")[0] == package for kind in type(data).__mro__)


# Numbers are matched first, because the "e" of "1e3" is not a name.
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`((?:[^`\\]|\\.)*)`"""
_NAME = re.compile(rf"\.?\d[\w.]*|{_QUOTED}|((?:[^\W\d]|\.(?!\d))[\w.]*)", re.DOTALL)
_LEFT_SIDE = re.compile(rf"((?:[^~`'\"]|{_QUOTED})*)~", re.DOTALL)


def names_in(text: str) -> set[str]:
    """All names in a formula or expression, including names of functions."""
    quoted = {re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL) for found in _NAME.finditer(text) if found[1]}
    return quoted | {found[2] for found in _NAME.finditer(text) if found[2]}


def left_side(formula: str) -> str | None:
    """The left-hand side of a formula; None if there is no tilde."""
    found = _LEFT_SIDE.match(formula)
    return None if found is None else found[1]


def quoted(name: str) -> str:
    """A column's name as written in a formula."""
    return "`" + re.sub(r"([`\\])", r"\\\1", name) + "`"


def is_chosen(name: str, names: set[str] | None) -> bool:
    """Whether a column is one of these names; "." and None stand for all columns."""
    return names is None or name in names or "." in names


# Factors and numbers


def _level(value: Any) -> str:
    """A level's text as R writes it."""
    if isinstance(value, (bool, np.bool_)):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float, np.number)):
        text = f"{value:.15g}"
        return str(value) if isinstance(value, (int, np.integer)) and int(value) != float(text) else text
    return str(value)


def _factor(codes: Any, levels: Iterable[Any], is_ordered: bool = False, keeps_order: bool = False) -> Factor:
    values = [*levels]
    texts = [_level(value) for value in values]
    counts = Counter(texts)  # numbers may differ only after the 15th digit
    texts = [text if counts[text] == 1 else str(value) for text, value in zip(texts, values, strict=True)]
    return Factor(np.ascontiguousarray(codes, np.int32), texts, is_ordered, keeps_order)


def _texts_factor(codes: Any, texts: Iterable[str]) -> Factor:
    """A factor with sorted levels, like a column of texts in a file."""
    levels = np.array([*texts], object)
    order = np.argsort(levels)
    place = np.empty(len(levels) + 1, np.int32)
    place[order] = np.arange(len(levels))
    place[-1] = -1
    return _factor(place[codes], levels[order])


def _truths(values: npt.NDArray[np.bool_], missing: npt.NDArray[np.bool_] | None = None) -> Factor:
    codes = values.astype(np.int32)
    if missing is not None:
        codes[missing] = -1
    return Factor(codes, ["FALSE", "TRUE"])


def _refused(name: str, kind: object, advice: str) -> InputError:
    return InputError(f"the column '{name}' is of type {kind}: {advice}")


_NUMBERS_OR_TEXTS = "give numbers (of dates, as days), texts or a categorical"


def _array_of(name: str, values: Any) -> npt.NDArray[Any]:
    """An array that keeps texts and booleans among numbers, which numpy would convert."""
    if isinstance(values, (list, tuple)):
        kinds = {*map(type, values)}
        if any(issubclass(kind, (str, bytes)) for kind in kinds) or (len(kinds) > 1 and kinds & {bool, np.bool_}):
            array = np.empty(len(values), object)
            array[:] = values
            return array
    try:
        array = np.asarray(values)
        return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    except UnicodeDecodeError:
        raise InputError(f"the column '{name}' has bytes that are not UTF-8: decode them") from None
    except ValueError as failed:
        raise InputError(f"the column '{name}' cannot be an array: {failed}") from None


def _of_numpy(name: str, values: Any) -> Column:
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    array = _array_of(name, values)
    if array.ndim == 0:
        raise InputError(f"the column '{name}' is a single {type(values).__name__}: give one value a row")
    if array.ndim != 1:
        raise InputError(f"the column '{name}' has {array.ndim} dimensions: give an array of one dimension")
    if array.dtype.kind == "b":
        return _truths(array, masked)
    if array.dtype.kind in "iuf":
        numbers = np.ascontiguousarray(array, np.float64)
        return numbers if masked is None else np.where(masked, np.nan, numbers)
    if array.dtype.kind in "TUO" and masked is not None:
        objects = array.astype(object)
        objects[masked] = None
        return _of_objects(name, objects)
    if array.dtype.kind == "U":
        levels, codes = np.unique(array, return_inverse=True)
        return _factor(codes, levels)
    if array.dtype.kind in "TO":
        return _of_objects(name, array.astype(object, copy=False))
    raise _refused(name, array.dtype, _NUMBERS_OR_TEXTS)


def _is_missing(value: Any) -> bool:
    if value is None or value is np.ma.masked or type(value).__name__ == "NAType":
        return True
    differs = value != value
    return isinstance(differs, (bool, np.bool_)) and bool(differs)


def _of_objects(name: str, array: npt.NDArray[Any]) -> Column:
    """The column of texts, truth values or numbers; None, NaN, pandas.NA or a mask mark missing values."""
    missing = np.fromiter(map(_is_missing, array), bool, len(array))
    kinds = {type(value) for value in array[~missing]}
    if not kinds:
        return np.full(len(array), np.nan)
    if all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return _truths(np.where(missing, False, array).astype(bool), missing)
    if all(issubclass(kind, str) for kind in kinds):
        texts = array[~missing].tolist()
        levels = sorted({*texts})
        places = {level: place for place, level in enumerate(levels)}
        codes = np.full(len(array), -1, np.int32)
        codes[~missing] = [places[text] for text in texts]
        return _factor(codes, levels)
    try:
        if any(issubclass(kind, (str, bytes)) for kind in kinds):
            raise ValueError
        return np.where(missing, np.nan, array).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise _refused(name, f"object, with {found}", _NUMBERS_OR_TEXTS) from None


def _of_pandas(name: str, series: Any) -> Column:
    import pandas as pd

    if not isinstance(series, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        raise _refused(name, type(series).__name__, "give a Series")
    if isinstance(series.dtype, pd.CategoricalDtype):
        of = series.cat if isinstance(series, pd.Series) else series
        return _factor(of.codes, of.categories, bool(of.ordered), keeps_order=True)
    if pd.api.types.is_bool_dtype(series.dtype) and pd.api.types.is_extension_array_dtype(series.dtype):
        missing = np.asarray(pd.isna(series))
        return _truths(np.asarray(series.fillna(False), bool), missing)
    if pd.api.types.is_extension_array_dtype(series.dtype) and pd.api.types.is_numeric_dtype(series.dtype):
        return np.ascontiguousarray(series.to_numpy(np.float64, na_value=np.nan))
    if pd.api.types.is_string_dtype(series.dtype) and series.dtype != object:
        return _texts_factor(*pd.factorize(series))
    return _of_numpy(name, series.to_numpy())


def _of_polars(name: str, series: Any) -> Column:
    import polars as pl

    if not isinstance(series, pl.Series):
        raise _refused(name, type(series).__name__, "give a Series")
    if series.dtype == pl.Boolean:
        return _truths(series.fill_null(False).to_numpy(), series.is_null().to_numpy())
    if series.dtype.is_numeric():
        return np.ascontiguousarray(series.cast(pl.Float64).to_numpy(), np.float64)
    if series.dtype in (pl.String, pl.Categorical, pl.Enum):
        is_enum = series.dtype == pl.Enum
        texts = series.cast(pl.String)
        levels = series.dtype.categories if is_enum else texts.drop_nulls().unique().sort()
        codes = texts.replace_strict(levels, list(range(len(levels))), default=-1, return_dtype=pl.Int32)
        return _factor(codes.fill_null(-1).to_numpy(), levels, keeps_order=is_enum)
    if series.dtype == pl.Null:
        return np.full(len(series), np.nan)
    raise _refused(name, series.dtype, _NUMBERS_OR_TEXTS)


def _of_arrow(name: str, values: Any) -> Column:
    import pyarrow as pa

    if not isinstance(values, (pa.Array, pa.ChunkedArray)):
        raise _refused(name, type(values).__name__, "give an Array")
    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks == 1:  # pyarrow would copy a single chunk
            values = values.chunk(0)
        else:
            values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    kind = values.type
    if str(kind) in ("string", "large_string", "string_view"):
        encoded = values.cast(pa.large_string()).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return _texts_factor(codes, encoded.dictionary.to_pylist())
    if isinstance(values, pa.DictionaryArray):
        codes = values.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
        return _factor(codes, values.dictionary.to_pylist(), bool(values.type.ordered))
    if pa.types.is_boolean(kind):
        missing = values.is_null().to_numpy(zero_copy_only=False)
        return _truths(values.fill_null(False).to_numpy(zero_copy_only=False), missing)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return np.ascontiguousarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    if pa.types.is_date(kind):  # days since 1970-01-01
        return _of_arrow(name, values.cast(pa.date32()).cast(pa.int32()))
    if pa.types.is_timestamp(kind):  # seconds since 1970-01-01 UTC
        units = values.cast(pa.int64()).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return np.ascontiguousarray(units / {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit])
    raise _refused(name, kind, _NUMBERS_OR_TEXTS)


def column_of(name: str, values: Any) -> Column:
    """The column of an array of any type."""
    for package, convert in (("pandas", _of_pandas), ("polars", _of_polars), ("pyarrow", _of_arrow)):
        if made_by(package, values):
            return convert(name, values)
    return _of_numpy(name, values)


# Data of several columns


@dataclass(frozen=True)
class Data:
    """The caller's data: its columns by name, and the form for results of the same rows."""

    rows: int
    names: list[str]
    column: Callable[[str], Any]
    give: Callable[[Columns], Any]
    """Columns as a frame of the caller's kind."""
    give_one: Callable[[str, Numbers], Any]
    """A single column of such a frame."""
    index: Any = None
    """The labels of the rows (pandas), or None."""


@dataclass(frozen=True)
class File:
    """A table that the library reads itself: files, or folders of files."""

    paths: tuple[str, ...]

    @property
    def path(self) -> str:
        """The name of the table for messages."""
        more = len(self.paths) - 1
        return self.paths[0] if more == 0 else f"{self.paths[0]} and {more} more path{'s' if more > 1 else ''}"


def _places(names: Iterable[str]) -> Callable[[str], int]:
    """The index of the column with this name, which must be unique."""
    known = [*names]
    counts = Counter(known)
    places = {name: place for place, name in enumerate(known)}

    def place(name: str) -> int:
        if counts[name] > 1:
            raise InputError(f"the data have {counts[name]} columns '{name}': rename all but one of them")
        return places[name]

    return place


def _index_of(values: Any) -> Any:
    """The row labels of a pandas Series; None for any other value."""
    if not made_by("pandas", values):
        return None
    import pandas as pd

    return values.index if isinstance(values, pd.Series) else None


def aligned(name: str, values: Any, index: Any) -> Any:
    """Values reordered by their row labels to the order of `labels`, if both have labels."""
    own = _index_of(values)
    if own is None or index is None or own.equals(index):
        return values
    if len(own) == len(index) and own.is_unique and index.is_unique:
        places = own.get_indexer(index)
        if (places >= 0).all():
            return values.iloc[places]
    raise InputError(
        f"the labels of '{name}' are not those of the data's rows: give the same index, or an array, matched by position"
    )


def _from_pandas(frame: Any) -> Data:
    import pandas as pd

    if frame.columns.nlevels > 1:
        raise InputError(
            "the frame's columns have several levels (a MultiIndex): give them one, as by frame.columns.to_flat_index()"
        )
    names = [str(name) for name in frame.columns]
    place = _places(names)
    return Data(
        len(frame),
        names,
        lambda name: frame.iloc[:, place(name)],
        lambda columns: pandas_frame(columns, frame.index),
        lambda name, values: pd.Series(values, index=frame.index, name=name),
        frame.index,
    )


def _from_polars(frame: Any) -> Data:
    import polars as pl

    def series(name: str, column: Column) -> Any:
        if not isinstance(column, Factor):
            return pl.Series(name, column)
        levels = pl.Series(column.levels, dtype=pl.String)
        codes = pl.Series(column.codes)
        return levels.gather(codes.set(codes < 0, None)).alias(name)

    return Data(
        frame.height,
        frame.columns,
        frame.get_column,
        lambda columns: pl.DataFrame([series(name, column) for name, column in columns.items()]),
        lambda name, values: pl.Series(name, values),
    )


def _from_arrow(table: Any) -> Data:
    import pyarrow as pa

    def array(column: Column) -> Any:
        if not isinstance(column, Factor):
            return pa.array(column)
        codes = pa.array(column.codes, mask=column.codes < 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array(column.levels, pa.string()))

    place = _places(table.column_names)
    return Data(
        table.num_rows,
        table.column_names,
        lambda name: table.column(place(name)),
        lambda columns: pa.table({name: array(column) for name, column in columns.items()}),
        lambda name, values: pa.array(values),
    )


def _is_single(value: Any) -> bool:
    return isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0


def _from_arrays(arrays: Mapping[Any, Any] | npt.NDArray[Any]) -> Data:
    """A single value repeated for every row."""
    keys = list(arrays) if isinstance(arrays, Mapping) else list(arrays.dtype.names or ())
    place = _places(map(str, keys))
    all_rows = [arrays[key] for key in keys if not _is_single(arrays[key])]
    rows = len(all_rows[0]) if all_rows else min(1, len(keys))
    index = next((own for own in map(_index_of, all_rows) if own is not None), None)

    def column(name: str) -> Any:
        values = arrays[keys[place(name)]]
        if _is_single(values):
            return np.full(rows, None if values is np.ma.masked else values)
        return aligned(name, values, index)

    return Data(rows, [*map(str, keys)], column, give_arrays, lambda name, values: values, index)


def give_arrays(columns: Columns) -> dict[str, npt.NDArray[Any]]:
    """A dict of arrays; a factor is an array of objects: its levels, None where missing."""
    return {name: factor_texts(column) for name, column in columns.items()}


def factor_texts(column: Column) -> npt.NDArray[Any]:
    """The level of each row of a factor, None where missing; numbers are unchanged."""
    return np.array([*column.levels, None], object)[column.codes] if isinstance(column, Factor) else column


def rows_of(column: Column, rows: npt.NDArray[np.intp]) -> Column:
    """Selected rows of a column."""
    return replace(column, codes=column.codes[rows]) if isinstance(column, Factor) else column[rows]


def pandas_frame(columns: Columns, index: Any = None) -> Any:
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Categorical.from_codes(column.codes, column.levels) if isinstance(column, Factor) else column
            for name, column in columns.items()
        },
        index=index,
    )


def result_frame(columns: Columns) -> Any:
    """A data frame if pandas is installed, otherwise a dict of arrays."""
    try:
        return pandas_frame(columns)
    except ImportError:
        return give_arrays(columns)


_ARROW_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather"}


def _files_of(path: str) -> list[str]:
    """The file itself, or the files of a folder, except hidden ones, ordered by the bytes of their paths."""
    if not os.path.isdir(path):
        if not os.path.exists(path):
            raise InputError(f"{path}: there is no such file")
        return [path]

    def fail(failed: OSError) -> None:
        raise InputError(f"{path}: the folder cannot be read: {failed}") from None

    files = []
    for folder, folders, names in os.walk(path, onerror=fail, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        files += [os.path.join(folder, name) for name in names if not name.startswith(("_", "."))]
    return sorted(files, key=os.fsencode)


def _arrow_format(paths: tuple[str, ...]) -> str | None:
    """The format of files read by pyarrow, from the name of the first file. The library refuses version 1 of Feather."""
    first = next((file for path in paths if os.path.exists(path) for file in _files_of(path)), paths[0])
    format = _ARROW_FORMATS.get(os.path.splitext(first)[1].lower())
    if format == "feather" and os.path.isfile(first):
        with open(first, "rb") as file:
            return None if file.read(4) == b"FEA1" else format
    return format


def _require_same_columns(files: Sequence[str], schemas: Iterable[Any]) -> None:
    """Refuses files whose columns have other names or kinds than the first file's, which pyarrow would convert or fill
    with missing values.
    """
    import pyarrow as pa

    def kind_of(type: Any) -> str:
        if pa.types.is_boolean(type):
            return "truth values"
        return "texts" if pa.types.is_dictionary(type) or "string" in str(type) else "numbers"

    expected: dict[str, str] = {}
    for path, schema in zip(files, schemas, strict=True):
        found = {field.name: kind_of(field.type) for field in schema}
        expected = expected or found
        for name, kind in expected.items():
            if name not in found:
                raise InputError(f"{path}: has no column '{name}', unlike {files[0]}: give files with the same columns")
            if found[name] != kind:
                raise InputError(
                    f"{path}: the column '{name}' holds {found[name]}, but {kind} in {files[0]}: "
                    "write it with one type in all files"
                )
        for name in found:
            if name not in expected:
                raise InputError(
                    f"{path}: has the column '{name}', unlike {files[0]}: give files with the same columns"
                )


def _from_arrow_files(paths: tuple[str, ...], format: str, names: set[str] | None) -> Data:
    """Files of one schema as a table; folders named KEY=VALUE become columns."""
    try:
        import pyarrow as pa
        import pyarrow.dataset as dataset
    except ImportError:
        raise UsageError(
            f"{paths[0]}: {format.capitalize()} is read by pyarrow, which is not installed: pip install pyarrow"
        ) from None
    base = paths[0] if len(paths) == 1 and os.path.isdir(paths[0]) else None
    files = [file for path in paths for file in _files_of(path)]
    try:
        rows = dataset.dataset(files, format=format, partitioning="hive", partition_base_dir=base)
        if len(files) > 1:
            _require_same_columns(files, (fragment.physical_schema for fragment in rows.get_fragments()))
        return _from_arrow(rows.to_table(columns=_chosen(rows.schema.names, names)))
    except (pa.ArrowException, OSError) as failed:
        raise InputError(f"{paths[0]}: pyarrow cannot read it: {failed}") from None


def _of_hdf5(path: str, name: str, dataset: Any) -> Any:
    """The column of a dataset of numbers, texts or an enumeration; "NA" is missing, as tessera-fit writes it."""
    import h5py

    members = h5py.check_enum_dtype(dataset.dtype)
    if members is not None:
        stored = dataset[()]
        values, order = np.unique([*members.values()], return_index=True)
        places = np.minimum(np.searchsorted(values, stored), len(values) - 1)
        if (values[places] != stored).any():
            raise InputError(f"{path}: a value of '{name}' is not a member of its enumeration: write it as texts")
        texts = np.array([*members], object)[order][places]
    elif h5py.check_string_dtype(dataset.dtype) is not None:
        texts = dataset.asstr()[()]
    else:
        return dataset[()]
    return np.where(texts == "NA", None, texts)


def _from_hdf5(path: str, names: set[str] | None) -> Data:
    """Reads the one-dimensional datasets at the root of a file by h5py, because the package's library reads no HDF5."""
    try:
        import h5py
    except ImportError:
        raise UsageError(f"{path}: HDF5 is read by h5py, which is not installed: pip install h5py") from None
    try:
        with h5py.File(path) as file:
            kept = {
                name: _of_hdf5(path, name, one)
                for name, one in file.items()
                if is_chosen(name, names) and isinstance(one, h5py.Dataset) and one.ndim == 1
            }
    except OSError as failed:
        raise InputError(f"{path}: h5py cannot read it: is it a complete HDF5 file? {failed}") from None
    return _from_arrays(kept)


def paths_of(data: Any) -> tuple[str, ...]:
    """The paths of a table in files; empty if `data` is something else."""
    if isinstance(data, (str, os.PathLike)):
        data = [data]
    if not isinstance(data, (list, tuple)) or not all(isinstance(one, (str, os.PathLike)) for one in data):
        return ()
    return tuple(os.fsdecode(encoded_path(one)) for one in data)


def data_of(data: Any, names: set[str] | None, hdf5_here: bool = False) -> Data | File:
    """Reads `data` of any kind; from lazy tables, Parquet and Feather only columns with these names. None: all.

    The library or tessera-fit reads CSV, and HDF5 unless it must be read here.
    """
    if paths := paths_of(data):
        if hdf5_here and len(paths) == 1 and paths[0].endswith((".h5", ".hdf5")):
            return _from_hdf5(paths[0], names)
        format = _arrow_format(paths)
        return File(paths) if format is None else _from_arrow_files(paths, format, names)
    kind = type(data).__name__
    if made_by("pandas", data) and hasattr(data, "columns") and hasattr(data, "iloc"):
        return _from_pandas(data)
    if made_by("polars", data) and kind in ("DataFrame", "LazyFrame"):
        if hasattr(data, "collect"):
            data = data.select(_chosen(data.collect_schema().names(), names)).collect()
        return _from_polars(data)
    if isinstance(data, Mapping) or (isinstance(data, np.ndarray) and data.dtype.names):
        return _from_arrays(data)
    if made_by("pyarrow", data) or (hasattr(data, "__arrow_c_stream__") and kind != "Series"):
        import pyarrow as pa

        with contextlib.suppress(TypeError, pa.ArrowInvalid):
            return _from_arrow(data if isinstance(data, pa.Table) else pa.table(data))
    raise UsageError(
        f"data are a {kind}: give a pandas or polars frame{', as series.to_frame()' if kind == 'Series' else ''}, "
        "an Arrow table, a dict of arrays, a structured array, the path of a table, or several"
    )


def _chosen(known: list[str], names: set[str] | None) -> list[str]:
    return [name for name in known if is_chosen(name, names)]
