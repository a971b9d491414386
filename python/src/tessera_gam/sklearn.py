# SPDX-License-Identifier: Apache-2.0
"""GAMs as estimators of scikit-learn.

    from tessera_gam.sklearn import GAMRegressor
    GAMRegressor().fit(X, y)                                # a smooth of each column of numbers
    GAMRegressor("s(age, k=20) + region", family="poisson").fit(frame, counts)

A prior weight of 2 is not the same as a repeated row: `EXPECTED_FAILED_CHECKS` names the checks of scikit-learn that
assume so, for `check_estimator(estimator, expected_failed_checks=...)`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from ._columns import Data, Factor, Numbers, column_of, data_of, left_side, quoted
from ._errors import InputError, UsageError
from ._gam import GAM

EXPECTED_FAILED_CHECKS = {
    name: "prior weights are precisions, not numbers of repeated rows"
    for name in ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
}

_RESPONSE = ".response"
_LARGEST_K = 10


class _Estimator(BaseEstimator):  # type: ignore[misc]
    formula: str | None
    family: str
    k: int | None

    def _keep(self, parameters: Mapping[str, Any]) -> None:
        """Stores the parameters of `__init__` unchanged as attributes, as scikit-learn requires."""
        self.__dict__.update({name: value for name, value in parameters.items() if name != "self"})

    def _rows(self, X: Any, reset: bool) -> Data:
        """The columns of a frame, or of an array as x0, x1, …; in a prediction named and ordered as in the fit."""
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            found = data_of(X, None)
        else:
            # Texts in an array of objects become levels of a factor.
            dtype = None if not reset and getattr(X, "dtype", None) == np.dtype(object) else np.float64
            array = validate_data(self, X, reset=reset, dtype=dtype)
            found = data_of({f"x{i}": array[:, i] for i in range(array.shape[1])}, None)
        assert isinstance(found, Data)
        if reset:
            self._names = found.names
            return found
        columns = {name: found.column(own) for name, own in zip(self._names, found.names, strict=True)}
        return replace(found, names=self._names, column=columns.__getitem__)

    def _fit_rows(self, X: Any, response: Any, sample_weight: Any) -> Self:
        rows = self._rows(X, reset=True)
        if rows.rows < 2:
            raise UsageError(f"n_samples={rows.rows}: a fit needs 2 rows or more")
        if len(response) != rows.rows:
            raise UsageError(f"X has {rows.rows} rows, and y {len(response)}: give y a response for each row of X")
        data = {name: rows.column(name) for name in rows.names} | {_RESPONSE: response}
        if self.formula is not None and self.k is not None:
            raise UsageError(f"k={self.k} and a formula, which sets k itself, as in s(x, k=20): leave out k or formula")
        predictors = _formula(rows, self.k) if self.formula is None else _predictors(self.formula)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, response)
        parameters = self.get_params(deep=False)
        options = {name: one for name, one in parameters.items() if name not in ("formula", "family", "k")}
        self.gam_ = GAM(f"{_RESPONSE} ~ {predictors}", self.family, **options).fit(data, weights=weights)
        self.formula_ = self.gam_.formula
        return self

    def _mean(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        return self.gam_.predict({name: rows.column(name) for name in rows.names}, type="response")


def _predictors(formula: str) -> str:
    """The right-hand side of `formula`. Its left-hand side may only be a name: the response is y, unchanged."""
    response = left_side(formula)
    if response is None:
        return formula
    if not re.fullmatch(r"\s*([\w.]+|`[^`]*`)?\s*", response):
        raise UsageError(
            f"formula: '{response.strip():.100} ~': give only the predictors, and fit(X, y) this response as y"
        )
    return formula[len(response) + 1 :]


def _formula(rows: Data, largest_k: int | None) -> str:
    """The default formula: a smooth of each numeric column (linear for fewer than three values), and each factor.

    The smooths together have at most half as many coefficients as there are rows.
    """
    if largest_k is None:
        largest_k = _LARGEST_K
    elif not isinstance(largest_k, Integral) or largest_k < 3:
        raise UsageError(f"k={largest_k!r:.100}: give a whole number, 3 or more")
    room = rows.rows // 2 // max(1, len(rows.names))
    terms = []
    for name in rows.names:
        column, term = column_of(name, rows.column(name)), quoted(name)
        distinct = 0 if isinstance(column, Factor) else len(np.unique(column[~np.isnan(column)]))
        k = min(largest_k, distinct, room)
        terms.append(term if k < 3 else f"s({term}, k={k})")
    return " + ".join(terms)


class GAMRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """A GAM of a numeric response.

    Parameters
    ----------
    formula
        The predictors, in R's notation: "s(age, k=20) + region". Columns of an array are x0, x1, …; in a
        prediction they have the names of the fit. None: each factor, and a smooth of each numeric column with at most
        `k` coefficients, fewer for few distinct values or rows.
    family
        As for `GAM`.
    k
        Without a formula: the maximum number of coefficients of a smooth, 3 or more (default: 10).
    link, select, gamma, sp, min_sp, ...
        Options of the fit, as for `GAM`.

    Attributes: `gam_`, the fitted `GAM`; `formula_`; `n_features_in_`, `feature_names_in_`.
    """

    def __init__(
        self,
        formula: str | None = None,
        family: str = "gaussian",
        *,
        k: int | None = None,
        # Options, told elsewhere: fit -family job -nthreads
        link: str | None = None,
        method: str | None = None,
        knots: Mapping[str, Sequence[float] | Numbers] | None = None,
        sp: Sequence[float] | Numbers | float | None = None,
        min_sp: Sequence[float] | Numbers | float | None = None,
        para_pen: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        select: bool | None = None,
        gamma: float | None = None,
        weights: str | None = None,
        offset: str | None = None,
        subset: str | None = None,
        rho: float | Literal["auto"] | None = None,
        AR_start: str | None = None,
        levels: Mapping[str, Iterable[Any]] | None = None,
        ordered: Mapping[str, Iterable[Any]] | Sequence[str] | str | None = None,
        drop_unused_levels: bool | None = None,
        residuals: bool | None = None,
        sample: int | None = None,
        max_iterations: int | None = None,
        tolerance: float | None = None,
        step_tolerance: float | None = None,
        largest_tested_effect: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        memory: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
        device_memory: int | str | None = None,
        device: Literal["auto", "gpu", "cpu"] | None = None,
        on_device_failure: Literal["cpu", "error", "exclude"] | None = None,
        score_model: Literal["spec", "throughput"] | None = None,
        allow_sharing: bool | None = None,
        memory_fraction: float | None = None,
        threads: int | None = None,
        # End of options
    ) -> None:
        self._keep(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits to X, n x p numbers or a frame, and the responses y, n numbers; `sample_weight`: n prior weights."""
        if y is None:
            raise UsageError("requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True).astype(np.float64)
        if not np.isfinite(y).all():
            raise UsageError("Input y contains NaN or infinity")
        return self._fit_rows(X, y, sample_weight)

    def predict(self, X: Any) -> Any:
        """The predicted means of n rows."""
        return self._mean(X)


class GAMClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """A GAM for two classes, binomial with the logit link. Parameters and attributes as for `GAMRegressor`."""

    def __init__(
        self,
        formula: str | None = None,
        family: str = "binomial",
        *,
        k: int | None = None,
        # Options, told elsewhere: fit -family job -nthreads
        link: str | None = None,
        method: str | None = None,
        knots: Mapping[str, Sequence[float] | Numbers] | None = None,
        sp: Sequence[float] | Numbers | float | None = None,
        min_sp: Sequence[float] | Numbers | float | None = None,
        para_pen: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        select: bool | None = None,
        gamma: float | None = None,
        weights: str | None = None,
        offset: str | None = None,
        subset: str | None = None,
        rho: float | Literal["auto"] | None = None,
        AR_start: str | None = None,
        levels: Mapping[str, Iterable[Any]] | None = None,
        ordered: Mapping[str, Iterable[Any]] | Sequence[str] | str | None = None,
        drop_unused_levels: bool | None = None,
        residuals: bool | None = None,
        sample: int | None = None,
        max_iterations: int | None = None,
        tolerance: float | None = None,
        step_tolerance: float | None = None,
        largest_tested_effect: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        memory: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
        device_memory: int | str | None = None,
        device: Literal["auto", "gpu", "cpu"] | None = None,
        on_device_failure: Literal["cpu", "error", "exclude"] | None = None,
        score_model: Literal["spec", "throughput"] | None = None,
        allow_sharing: bool | None = None,
        memory_fraction: float | None = None,
        threads: int | None = None,
        # End of options
    ) -> None:
        self._keep(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits to X, n x p numbers or a frame, and y, n labels of two classes; `sample_weight`: n prior weights."""
        if y is None:
            raise UsageError("requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise UsageError(f"Only binary classification is supported. The type of the target is {type_of_target(y)}.")
        used = codes if sample_weight is None else codes[_check_sample_weight(sample_weight, codes) > 0]
        if len(np.unique(used)) < 2:
            raise UsageError("y has one class in the rows of a weight above 0: give two")
        return self._fit_rows(X, codes.astype(np.float64), sample_weight)

    def predict_proba(self, X: Any) -> Any:
        """The probabilities of the two classes for n rows, n x 2."""
        second = self._mean(X)
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> Any:
        """The likelier class for each of n rows, all without missing values."""
        second = self._mean(X)
        if np.isnan(second).any():
            first = int(np.flatnonzero(np.isnan(second))[0])
            raise InputError(f"Input X contains NaN: row {first} has no class; predict_proba gives NaN for it")
        return self.classes_[(second > 0.5).astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
