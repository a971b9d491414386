# SPDX-License-Identifier: Apache-2.0
"""Predictions without the library, by numpy, for some models and types.

The file is not trusted: before a computation it is checked against the schema of docs/model.md, and its sizes against
each other.
"""

from __future__ import annotations

import json
import math
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import _predict_model
from ._columns import Data, Factor, File, Numbers, column_of, factor_texts
from ._errors import InputError, UsageError
from ._native import encoded_path

_READ = {"format", "version", "formula", "family", "link", "family_toml", "formula_offsets", "coefficients", "design"}
_MOST_NUMBERS = 1 << 22  # limit for an array that is not in the file
_NUMBERS_AT_ONCE = 1 << 20  # limit for a term's values in a part of the rows


class PortableModel:
    """A parsed model.json; `predict` computes the linear predictor or the mean as in docs/model.md."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            text = pathlib.Path(os.fsdecode(encoded_path(path))).read_text(encoding="utf-8")
            self.model = json.loads(text)
        except (OSError, ValueError, RecursionError) as failed:
            raise InputError(f"{path}: cannot be read as a model: {failed}") from None
        fault = next(_faults(self.model), None)
        if fault is None:
            self._width, fault = _extent(self.model)
        if fault is not None:
            raise InputError(f"{path}: is not a model that numpy can read: {fault}: restore it, or use tessera-fit")

    def predict(self, data: Data | File, names: set[str], reason: str, asked: Mapping[str, Any]) -> Numbers:
        """Predicts rows from columns with these names. Options that this code lacks are refused with `reason`."""
        wanted = {name: value for name, value in asked.items() if value not in (None, False)}
        kind = wanted.pop("type")
        if kind not in ("link", "response") or wanted:
            unknown = ", ".join([*wanted] or [f"type={kind!r}"])
            raise UsageError(f"{unknown}: numpy predicts only type='link' and 'response'; {reason}")
        if isinstance(data, File):
            raise UsageError(f"{data.path}: numpy predicts frames and arrays; {reason}")
        columns = {}
        offsets = {name.strip("`") for name in self.model.get("formula_offsets", [])}
        for name in filter(names.__contains__, data.names):
            column = column_of(name, data.column(name))
            if not isinstance(column, Factor) and name not in offsets:
                column = np.where(np.isinf(column), np.nan, column)
            columns[name] = factor_texts(column)
            if len(columns[name]) != data.rows:
                raise InputError(f"the column '{name}' has {len(columns[name])} values: give {data.rows}, one a row")
        columns = columns or {"": np.zeros(data.rows)}  # for the number of rows
        step = max(1, _NUMBERS_AT_ONCE // self._width)
        parts = [
            self._predict({name: column[row : row + step] for name, column in columns.items()}, kind, reason)
            for row in range(0, data.rows, step)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def _predict(self, columns: Mapping[str, Any], kind: str, reason: str) -> Numbers:
        predict: Any = _predict_model.predict
        try:
            with np.errstate(all="ignore"):
                return np.asarray(predict(self.model, columns, kind), np.float64)
        except ValueError as failed:
            raise InputError(f"{failed}; {reason}") from None


def _faults(model: Any) -> Iterator[str]:
    """The violations of the schema in the parts of a model that a prediction reads."""
    schema = json.loads(pathlib.Path(__file__).with_name("model.schema.json").read_text(encoding="utf-8"))
    schema["required"] = [name for name in schema["required"] if name in _READ]
    schema["properties"] = {name: one for name, one in schema["properties"].items() if name in _READ}
    # Curves at minus infinity, whose coefficients are null, are not for numpy.
    schema["properties"]["coefficients"]["items"]["properties"]["value"] = {"type": "number"}
    return _Schema(schema["$defs"]).faults(model, schema, "")


def _is_number(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value)) or (type(value) is int and abs(value) < 1 << 53)


_TYPES: dict[str, Any] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == int(value),
}


class _Schema:
    """The violations of a JSON Schema, for the subset of JSON Schema in the schema of a model."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self.definitions = definitions

    def faults(self, value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
        if "$ref" in schema:
            yield from self.faults(value, self.definitions[schema["$ref"].removeprefix("#/$defs/")], where)
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        if types and not any(_TYPES[one](value) for one in types):
            yield f"{where or 'it'} is not of type {' or '.join(types)}"
            return
        if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in schema["enum"]):
            yield f"{where} is {value!r:.50}, not {schema.get('const', schema.get('enum'))}"
        if _is_number(value):
            yield from _faults_of_number(value, schema, where)
        if isinstance(value, list):
            yield from self._faults_of_list(value, schema, where)
        if isinstance(value, dict):
            yield from self._faults_of_object(value, schema, where)

    def _faults_of_list(self, value: list[Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", math.inf):
            yield f"{where} has {len(value)} items"
        first = schema.get("prefixItems", [])
        for place, one in enumerate(value):
            of_item = first[place] if place < len(first) else schema.get("items")
            if of_item is not None:
                yield from self.faults(one, of_item, f"{where}[{place}]")

    def _faults_of_object(self, value: dict[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
        missing = [name for name in schema.get("required", []) if name not in value]
        choices = [one["required"] for one in schema.get("oneOf", [])]
        if missing or (choices and sum(all(name in value for name in names) for names in choices) != 1):
            yield f"{where or 'it'} lacks {missing[0] if missing else ' or '.join(names[0] for names in choices)}"
        for name, one in schema.get("properties", {}).items():
            if name in value:
                yield from self.faults(value[name], one, f"{where}.{name}" if where else name)


def _faults_of_number(value: float, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    least, above = schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf)
    if value < least or value <= above or value > schema.get("maximum", math.inf):
        yield f"{where} is {value}, which is out of its range"


# Sizes in a model that conforms to the schema


class _Misfit(Exception):
    """The contradictions between parts of a model."""


def _require(condition: bool, where: str, what: str) -> None:
    if not condition:
        raise _Misfit(f"{where} {what}")


def _extent(model: Mapping[str, Any]) -> tuple[int, str | None]:
    """The maximum number of values per row of a term, or its contradiction: no array exceeds what the file implies."""
    design, coefficients = model["design"], len(model["coefficients"])
    known = {one["name"]: 0 for one in design["variables"]}
    known |= {one["name"]: len(one["levels"]) for one in design["variables"] if "levels" in one}
    try:
        for one in design["variables"]:
            levels = one.get("levels", [])
            _require(len({*levels}) == len(levels), f"design.variables: {one['name']:.50}", "has a level twice")
        columns, widths = 0, [1]
        for place, term in enumerate(design["terms"]):
            size = width = 1
            for number, part in enumerate(term):
                own, values, work = _component(part, known, f"design.terms[{place}][{number}]")
                size, width = size * own, width * values
                widths += [width, work]
                _require(
                    max(size, width) <= _MOST_NUMBERS + 64 * coefficients, f"design.terms[{place}]", "is too large"
                )
            columns += size
        _require(columns <= _MOST_NUMBERS + 64 * coefficients, "design.terms", "have too many columns")
        used = 0
        for place, block in enumerate(design["blocks"]):
            where, own, copies = f"design.blocks[{place}]", block["map"], block.get("copies", 1)
            _require_matrix(own, f"{where}.map")
            _require(len(block["names"]) == copies * own["cols"], where, "needs a name for each column of its map")
            end = block["raw_begin"] + copies * own["rows"]
            _require(block["raw_begin"] < columns and end <= columns, where, "ends behind the last raw column")
            used += len(block["names"])
        _require(used == coefficients, "design.blocks", f"have {used} coefficients, and the model {coefficients}")
    except _Misfit as fault:
        return 1, str(fault)
    return max(widths), None


def _component(part: Mapping[str, Any], known: Mapping[str, int], where: str) -> tuple[int, int, int]:
    """Per row of a component: the raw columns, the nonzeros, and the values that are stored."""
    _require(part["variable"] in known, where, "has an unknown variable")
    if known[part["variable"]]:
        return known[part["variable"]], 1, 1
    if "margin" in part:
        margin, cells = part["margin"], len(part["margin"]["breaks"]) - 1
        _require(bool((np.diff(margin["breaks"]) > 0).all()), where, "has breaks that do not ascend")
        _require(len(margin.get("cells", range(cells))) == cells, where, "needs a cell between each two breaks")
        return margin["stride"] * (cells - 1) + 4, 4, 16
    if "radial" in part:
        rows, cols = _require_matrix(part["radial"]["map"], where, is_dense=True)
        _require(rows == len(part["radial"]["points"]) + 2, where, "has a map of other points")
        return max(8, -(-cols // 4) * 4), cols, rows
    if "isotropic" not in part:
        return 1, 1, 1
    radial, variables = part["isotropic"], 1 + len(part["isotropic"]["others"])
    _require(all(known.get(name) == 0 for name in radial["others"]), where, "has an unknown variable")
    points, of_point = _require_matrix(radial["points"], where, is_dense=True)
    rows, cols = _require_matrix(radial["map"], where, is_dense=True)
    sizes = {of_point, len(radial["shift"]), *map(len, radial["powers"])}
    _require(sizes == {variables} and rows == points + len(radial["powers"]), where, "has points of other variables")
    return cols, cols, rows * variables


def _require_matrix(matrix: Mapping[str, Any], where: str, is_dense: bool = False) -> tuple[int, int]:
    """The rows and columns of a matrix. `is_dense`: a sparse matrix is expanded for computation."""
    rows, cols = int(matrix["rows"]), int(matrix["cols"])
    if "values" in matrix:
        _require(len(matrix["values"]) == rows * cols, where, "needs a number for each row and column of a matrix")
    else:
        _require(not is_dense or rows * cols <= _MOST_NUMBERS, where, "has a matrix that is too large")
        _require(all(i < rows and j < cols for i, j, _ in matrix["entries"]), where, "has an entry outside of a matrix")
    return rows, cols
