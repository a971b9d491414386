# SPDX-License-Identifier: Apache-2.0
"""Predictions of a model where the library cannot be loaded: by numpy, and less."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _predict_model
from ._columns import Data, File, Numbers, column_of, factor_texts
from ._errors import InputError, UsageError


class PortableModel:
    """A model.json, of which `predict` gives the linear predictor or the mean: docs/model.md."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.model = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as failed:
            raise InputError(f"{path}: cannot be read as a model: {failed}") from None

    def predict(self, data: Data | File, names: set[str], reason: str, asked: Mapping[str, Any]) -> Numbers:
        """The rows of the columns with these names. What numpy has no code for is refused, with the reason."""
        wanted = {name: value for name, value in asked.items() if value not in (None, False)}
        kind = wanted.pop("type")
        if kind not in ("link", "response") or wanted:
            unknown = ", ".join([*wanted] or [f"type={kind!r}"])
            raise UsageError(f"{unknown}: not among what numpy predicts, type='link' and 'response'; {reason}")
        if isinstance(data, File):
            raise UsageError(f"{data.path}: numpy predicts frames and arrays; {reason}")
        columns = {name: factor_texts(column_of(name, data.column(name))) for name in data.names if name in names}
        predict: Any = _predict_model.predict
        try:
            return np.asarray(predict(self.model, columns, kind), np.float64)
        except (KeyError, ValueError) as failed:
            raise UsageError(f"{failed}; {reason}") from None
