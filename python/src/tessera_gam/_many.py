# SPDX-License-Identifier: Apache-2.0
"""Fits one formula to each of many responses."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref, c_char_p
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _comm, _native
from ._columns import (
    Column,
    Columns,
    Data,
    Factor,
    File,
    Numbers,
    aligned,
    data_of,
    factor_texts,
    made_by,
    names_in,
    result_frame,
    rows_of,
)
from ._adata import Cells, is_adata, matrix_of
from ._errors import InputError, UsageError
from ._gam import _TABLE_OPTIONS, GAM, Progress, _arrays, _given, _shown
from ._table import Answer, Table, columns_of, naming_columns

# Indexed by the values of tessera_gam_number and tessera_gam_layout.
_NUMBERS = ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
_LAYOUTS = ("dense", "csr", "csc")
_OF_ADATA = ("layer", "use_raw", "key_added")
_OF_LINEAGES = ("pseudotime", "cell_weights", "conditions", "batch", "k", "seed")


@dataclass(frozen=True)
class ManyFits:
    """The fits of many responses, with the columns of `tessera-fit many` (docs/many.md)."""

    fits: Any
    """A row for each response, a pandas frame; without pandas a dict of arrays: "response", "status", "edf", …"""
    tests: Any
    """A row for each response: "p:TERM" and "q:TERM" of each term."""
    _answer: Answer | None = field(default=None, repr=False, compare=False)
    """The fits in the library, for models."""

    def model(self, response: str) -> GAM:
        """The model of a response, which predicts and has a summary. Needs `covariances=True`."""
        model = _native.Handle("model")
        _native.call("many_model", self._kept().number, _native.encoded(response, "the response"), model.to)
        return GAM._of(model)

    def covariance(self, response: str) -> npt.NDArray[np.float64]:
        """The covariance of the p coefficients of a response, p x p. Needs `covariances=True`."""
        return self.model(response).cov

    def test_curves(
        self,
        test: Literal["association", "start-vs-end", "diff-end", "pattern", "condition"] = "association",
        *,
        # Options: curves -test job.threads
        contrasts: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        terms: Sequence[str] | str | None = None,
        points: int | None = None,
        start: float | None = None,
        end: float | None = None,
        l2fc: float | None = None,
        rank_tolerance: float | None = None,
        threads: int | None = None,
        # End of options
    ) -> Any:
        """Tests of the curves of each response, those of tradeSeq's functions (docs/many.md): a row for each response
        with "statistic", "df", "p" and "q", and these of each curve or pair of curves with its log2 fold change. Needs
        `covariances=True`.

        Parameters
        ----------
        test
            "association": is each curve constant; "start-vs-end": does it end where it starts; "diff-end": do two
            curves end at one value; "pattern": are they the same; "condition": are those of one variable.
        contrasts
            Contrasts to test in place of `test`, by name: a frame of coefficients x contrasts, or weights of
            coefficients, {'late': [{'s(t):a.5': 1, 's(t):b.5': -1}]}; or a JSON file of these.
        terms
            The curves: 's(t1):l1,s(t2):l2' (default: all).
        points
            Points of each curve; 0: twice its largest number of basis functions (default: 0).
        start
            Where curves start (default: at the least value of all, or with their own data).
        end
            Where curves end, if they have data after it (default: their greatest value).
        l2fc
            Differences up to this log2 fold change count as zero (default: 0).
        rank_tolerance
            Eigenvalues of the contrasts' covariance up to this share of the largest count as zero (default: 0.01).
        threads
            Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
        """
        options = _given(locals())
        return self._of_curves("many_curves", options)

    def curves(
        self,
        *,
        # Options: curve-values job.threads
        terms: Sequence[str] | str | None = None,
        points: int | None = None,
        start: float | None = None,
        end: float | None = None,
        interval: float | None = None,
        scaled: bool | None = None,
        threads: int | None = None,
        # End of options
    ) -> Any:
        """The means of each response on its curves, without offsets and with other variables at typical values: a
        column "CURVE@POINT" for each point (docs/many.md). Needs `covariances=True`.

        Parameters
        ----------
        terms
            The curves: 's(t1):l1,s(t2):l2' (default: all).
        points
            Points of each curve; 0: twice its largest number of basis functions (default: 0).
        start
            Where curves start (default: at the least value of all, or with their own data).
        end
            Where curves end, if they have data after it (default: their greatest value).
        interval
            Bounds of the interval of each mean with this probability (default: 0).
        scaled
            Standard scores of a response's means on all its curves, for clustering (default: False).
        threads
            Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
        """
        return self._of_curves("many_curve_values", _given(locals()))

    def _of_curves(self, function: str, options: dict[str, Any]) -> Any:
        fits, answer = self._kept(), Answer()
        _native.interruptible(
            lambda call: _native.call(function, fits.number, call, answer.to), _native.option_texts(options)
        )
        return _frame_of(answer)

    def _kept(self) -> Answer:
        if self._answer is None:
            raise UsageError(
                "the fits do not keep models: fit with covariances=True; a pickled result never keeps them"
            )
        return self._answer

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_answer": None}

    @property
    def by_status(self) -> dict[str, int]:
        """The number of responses for each way in which a fit can end: {"all_zero": 41, "converged": 13120}."""
        ends, counts = np.unique(np.asarray(self.fits["status"], str), return_counts=True)
        return dict(zip(ends.tolist(), counts.tolist(), strict=True))

    def __repr__(self) -> str:
        ends = ", ".join(f"{count} {status}" for status, count in self.by_status.items())
        return f"ManyFits of {len(self.fits['status'])} responses: {ends}"


def fit_many(
    covariates: Any,
    counts: Any = None,
    formula: str | None = None,
    family: str | None = None,
    *,
    weights: Any = None,
    offsets: Any = None,
    names: Sequence[str] | None = None,
    layer: str | None = None,
    use_raw: bool | None = None,
    key_added: str = "gam",
    pseudotime: Any = None,
    cell_weights: Any = None,
    conditions: Any = None,
    batch: Any = None,
    k: int | None = None,
    seed: int | None = None,
    progress: Progress = None,
    comm: Any = None,
    # Options: many.knots many.min-rows many.min-share many.responses-in many.key many.memory many.scratch many.covariances many.checkpoint many.drop many.require-one-kind job -nthreads table -block-rows
    knots: Mapping[str, Sequence[float] | Numbers] | None = None,
    min_rows: int | None = None,
    min_share: float | None = None,
    responses_in: Literal["auto", "rows", "columns"] | None = None,
    key: str | None = None,
    memory: int | str | None = None,
    scratch: str | os.PathLike[str] | None = None,
    covariances: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    drop: Sequence[str] | str | None = None,
    require_one_kind: bool | None = None,
    device: Literal["auto", "gpu", "cpu"] | None = None,
    on_device_failure: Literal["cpu", "error", "exclude"] | None = None,
    score_model: Literal["spec", "throughput"] | None = None,
    allow_sharing: bool | None = None,
    memory_fraction: float | None = None,
    threads: int | None = None,
    na_strings: Sequence[str] | str | None = None,
    factor: Sequence[str] | str | None = None,
    numeric: Sequence[str] | str | None = None,
    date: Sequence[str] | str | None = None,
    sep: str | None = None,
    dec: str | None = None,
    comment: str | None = None,
    header: bool | None = None,
    skip: int | None = None,
    # End of options
) -> ManyFits:
    """Fits a formula to each of many responses over the same rows, such as the counts of each gene in the same cells,
    with the same results as `tessera-fit many` (docs/many.md).

    Each response has its own smoothing parameters, by Laplace REML as in mgcv's `gam(method="REML")`, and its own theta
    of family "nb". Rows that lack a covariate are left out; rows that lack a response are left out of its fit.

    ``fit_many(adata, formula, family)`` fits each gene of an AnnData, with the columns of obs and obsm (X_umap_1) as
    covariates, and writes the results into it as Scanpy's functions do: var["gam_status"], var["gam_q:TERM"], …,
    varm["gam_coef"], varm["gam_se"] and uns["gam"]. With pseudotime in place of the formula the model is that of
    `lineages`. A view keeps no results.

    Parameters
    ----------
    covariates
        A table of n rows as `GAM.fit` takes it, or an AnnData.
    counts
        The responses of these rows: an n x G array of numbers of any type and strides, or a CSR or CSC matrix of
        scipy.sparse, which are read in place; a frame, an Arrow table, a dict of arrays or the path of a table, whose
        columns are the responses; the path of a matrix, "FILE.npy" or, with a library that reads HDF5, "FILE.h5:/PATH";
        or the X of an AnnData. Rows are matched by position, or by their labels if both counts and covariates have an
        index of pandas.
    formula
        In R's notation, without a response: ``"s(t, by=lineage) + offset(log_size)"``.
    family
        "gaussian" (default), "binomial", "poisson", "gamma", "quasipoisson", "quasibinomial" or "nb" (default with
        pseudotime); "nb(theta=3)" fixes theta.
    weights
        Prior weights: a column's name, an expression or an array of n values; or a matrix like `counts`, or its
        `pathlib.Path`, with weights for each response. A weight of 0 leaves a row out of that response.
    offsets
        A matrix like `counts`, or its `pathlib.Path`, added to the linear predictors. An offset of the rows is a term,
        "offset(log_size)".
    names
        The names of the responses of a matrix (default: "1", "2", …).
    layer, use_raw
        Of an AnnData: the matrix of responses, a layer or X of raw, in place of X.
    key_added
        Of an AnnData: the name under which results are stored.
    pseudotime, cell_weights, conditions, batch, k, seed
        Of an AnnData: as for `lineages`; the first four may be names in obs or obsm, or lists of names in obs.
    progress
        As for `GAM.fit`; Ctrl-C ends the call.
    comm
        A communicator of mpi4py. All its processes call this with the same arguments; each reads and fits a part of
        the responses, e.g. of a memory-mapped file (`numpy.load(path, mmap_mode="r")`), and gets all results. The
        library must use the same MPI, as for `GAM.fit`.
    knots
        Limits or knots of variables: {'month': [0.5, 12.5]}.
    min_rows
        Minimum number of values of a response; responses with fewer are not fitted (default: 2).
    min_share
        Least share of the rows that have a value (default: 0).
    responses_in
        Whether the rows or the columns of the matrix are the responses (default: auto).
    key
        Column of the covariates by which their rows are matched to the names of the matrix's rows.
    memory
        Memory limit per node for sorting a sparse matrix by response, such as 2G; beyond it a scratch file (default:
        64M per rank).
    scratch
        Folder for scratch files, on a disk (default: $TMPDIR or /var/tmp).
    covariances
        Keep the covariances of the coefficients, for `covariance` and `model` of the result (default: False).
    checkpoint
        Checkpoint file, written after every batch of responses; the same fits resume from it.
    drop
        Terms whose partial R2 to compute, the share of the deviance without them that they explain: 's(age)'.
    require_one_kind
        If a GPU fails after responses were computed on it, compute all anew on the CPU (default: False).
    device
        auto: GPUs, unless the CPU is estimated to be faster; gpu: GPUs or an error; cpu (default: auto).
    on_device_failure
        If a GPU fails: cpu: recompute all on the CPU; error: exit; exclude: continue on the others (default: cpu).
    score_model
        How the speeds of GPUs are estimated (default: throughput).
    allow_sharing
        Let ranks share a GPU if a node has more ranks than GPUs (default: False).
    memory_fraction
        Fraction of a GPU's free memory that a job may take, above 0, at most 1 (default: 0.5).
    threads
        Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
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
    """
    options = _given(
        locals(), "covariates", "counts", "formula", "offsets", "names", "progress", "comm", *_OF_ADATA, *_OF_LINEAGES
    )
    of_lineages = dict(zip(_OF_LINEAGES, (pseudotime, cell_weights, conditions, batch, k, seed), strict=True))
    cells = None
    if is_adata(covariates) and (counts is None or isinstance(counts, str)):
        if counts is not None:  # arguments by position: adata, formula, family
            formula, family = counts, formula if family is None else family
        cells = Cells(covariates, formula, family, weights, layer, use_raw)
        options |= cells.build_model(of_lineages)
        covariates, counts, formula, family = cells.covariates, cells.counts, cells.formula, cells.family
        options["family"] = family
    elif any(one is not None for one in of_lineages.values()):
        raise UsageError("pseudotime is of fit_many(adata, pseudotime=…): give an AnnData, or use lineages()")
    elif is_adata(counts):
        counts = matrix_of(counts, layer, bool(use_raw))
    elif layer is not None or use_raw is not None:
        raise UsageError("layer and use_raw name a matrix of an AnnData: give one")
    if counts is None or formula is None:
        raise UsageError("give covariates, counts and a formula; or an AnnData and a formula")
    if options.get("family") is None:
        options["family"] = "gaussian"
    of_table = _native.option_texts({name: options.pop(name) for name in [*options] if name in _TABLE_OPTIONS})
    terms = _native.encoded(formula, "the formula")
    if offsets is not None and not _is_matrix(offsets):
        raise UsageError("offsets: give a matrix of n x G; an offset of all responses is a term, as offset(log_size)")
    beside = {"offsets": offsets}
    if _is_matrix(weights):
        beside["weights"] = options.pop("weights")
        weights = None
    arrays = _arrays({"weights": weights})
    read = names_in(formula if arrays or weights is None else f"{formula} + {weights}") | ({key} if key else set())
    options |= {name[1:]: name for name in arrays}

    def given() -> tuple[Table, _Responses]:
        responses = _responses_of(counts, names)
        for name, matrix in beside.items():
            if matrix is not None:
                responses.add(name, _responses_of(matrix, None))
        rows = data_of(covariates, read, not _native.reads_hdf5())
        if isinstance(rows, Data) and rows.rows == 0:
            raise InputError("the covariates have no rows: give one or more")
        if isinstance(rows, Data):
            of_responses = getattr(getattr(counts, "X", counts), "shape", ())
            for name in read.intersection(rows.names) if len(of_responses) == 2 else ():
                if getattr(rows.column(name), "shape", None) == of_responses:
                    raise _differs(name)
        columns = columns_of(rows, read, arrays)
        if isinstance(rows, Data) and rows.index is not None and responses.labels is not None:
            columns = _in_order(columns, rows, responses.labels)
        return Table(rows, columns, of_table), responses

    if comm is None:
        table, responses = given()
    else:
        options["comm"] = _comm.handle_of(comm)
        table, responses = _comm.on_all(comm, given)
    fits, tests = Answer(), Answer()
    run = _native.interruptible if comm is None else _native.on_this_thread
    with _shown(progress) as report, _naming_layers(counts), naming_columns(table):
        run(
            lambda call: _native.call(
                "fit_many", terms, table.number, byref(responses.structure), call, fits.to, tests.to
            ),
            _native.option_texts(options),
            report,
        )
    result = ManyFits(_frame_of(fits), _frame_of(tests), fits if covariances else None)
    if cells is not None and not cells.is_view:
        cells.store(result, key_added)
    return result


@dataclass(frozen=True)
class _Responses:
    """The responses in the form of the C interface."""

    structure: _native.Responses
    kept: list[Any]
    """What the structure refers to."""
    labels: Any = None
    """The index of the rows, from pandas."""

    def add(self, name: str, beside: _Responses) -> None:
        """A matrix of weights or offsets."""
        self.kept.append(beside)
        setattr(self.structure, name, ctypes.addressof(beside.structure))


def _differs(name: str) -> UsageError:
    return UsageError(
        f"the variable '{name}' has a value for each response, but covariates are the same for all: fit each response "
        "separately, as by GAM; weights= and offsets= may differ"
    )


@contextlib.contextmanager
def _naming_layers(counts: Any) -> Iterator[None]:
    """Reports a layer of an AnnData in the formula, which is no column of the covariates; and names `layer` where X is
    no matrix of counts."""
    try:
        yield
    except InputError as refused:
        if "is not a count" in str(refused) and hasattr(counts, "layers"):
            raise InputError(f"{refused}; if X is normalised, name that of the counts, such as layer='counts'") from None
        unknown = re.search(r"unknown column '(.*?)'", str(refused))
        if unknown and unknown[1] in getattr(counts, "layers", ()):
            raise _differs(unknown[1]) from None
        raise


def _is_matrix(values: Any) -> bool:
    return (
        (isinstance(values, np.ndarray) and values.ndim == 2) or _is_sparse(values) or isinstance(values, os.PathLike)
    )


def _is_sparse(values: Any) -> bool:
    return made_by("scipy", values) and hasattr(values, "tocsr")


def _responses_of(counts: Any, names: Sequence[str] | None) -> _Responses:
    labels = None
    if hasattr(counts, "X") and hasattr(counts, "obs_names") and hasattr(counts, "var_names"):  # an AnnData
        labels, names = counts.obs_names, [*counts.var_names] if names is None else names
        counts = counts.X
    if _is_sparse(counts):
        return _sparse(counts, names, labels)
    if isinstance(counts, np.ndarray) and not counts.dtype.names:
        return _dense(counts, names, labels)
    if names is not None:
        raise UsageError("names: leave them out, because the columns of a table have names; only a matrix has none")
    found = data_of(counts, None, not _native.reads_hdf5())
    if isinstance(found, File) and len(found.paths) == 1 and not os.path.isdir(found.path):
        path = _native.encoded_path(found.path)
        return _Responses(_native.Responses(size=ctypes.sizeof(_native.Responses), path=path), [path])
    columns = columns_of(found, {*found.names} if isinstance(found, Data) else None)
    table = Table(found, {name: _truths_as_numbers(one) for name, one in columns.items()})
    structure = _native.Responses(size=ctypes.sizeof(_native.Responses), table=table.number.value)
    return _Responses(structure, [table], found.index if isinstance(found, Data) else None)


def _dense(counts: npt.NDArray[Any], names: Sequence[str] | None, labels: Any) -> _Responses:
    if isinstance(counts, np.ma.MaskedArray):
        counts = np.ma.filled(counts.astype(np.float64), np.nan)
    if counts.ndim != 2:
        raise InputError(f"counts have {counts.ndim} dimensions: give two, a column for each response")
    counts = _numbers(counts)
    if not counts.flags.aligned or any(stride < 0 or stride % counts.itemsize for stride in counts.strides):
        counts = np.ascontiguousarray(counts)
    strides = [stride // counts.itemsize for stride in counts.strides]
    last = sum((size - 1) * stride for size, stride in zip(counts.shape, strides, strict=True))
    structure = _structure("dense", counts, counts, names)
    structure.value_count = last + 1 if counts.size else 0
    structure.row_stride, structure.column_stride = strides
    return _Responses(structure, [counts], labels)


def _sparse(counts: Any, names: Sequence[str] | None, labels: Any) -> _Responses:
    if counts.format not in _LAYOUTS:
        counts = counts.tocsr()
    kind = np.promote_types(counts.indices.dtype, counts.indptr.dtype)
    values = np.ascontiguousarray(_numbers(counts.data))
    indices, begins = (np.ascontiguousarray(one, kind) for one in (counts.indices, counts.indptr))
    structure = _structure(counts.format, counts, values, names)
    structure.value_count = min(len(values), len(indices))
    structure.index_type = _NUMBERS.index(kind.str[1:])
    structure.indices, structure.begins = indices.ctypes.data, begins.ctypes.data
    return _Responses(structure, [values, indices, begins], labels)


def _structure(layout: str, counts: Any, values: npt.NDArray[Any], names: Sequence[str] | None) -> _native.Responses:
    """The members that dense and sparse matrices share; the structure keeps the names alive."""
    texts = [_native.encoded(str(name), "a response's name") for name in ([] if names is None else names)]
    return _native.Responses(
        size=ctypes.sizeof(_native.Responses),
        layout=_LAYOUTS.index(layout),
        value_type=_NUMBERS.index(values.dtype.str[1:]),
        rows=counts.shape[0],
        columns=counts.shape[1],
        values=values.ctypes.data,
        names=(c_char_p * len(texts))(*texts),
        name_count=len(texts),
    )


def _numbers(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers of a type that the library reads in place; numbers of other types are converted."""
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    if values.dtype.isnative and values.dtype.str[1:] in _NUMBERS:
        return values
    if values.dtype.kind not in "iuf":
        raise InputError(f"counts are of type {values.dtype}: give numbers")
    return values.astype(np.float64)


def _truths_as_numbers(column: Column) -> Column:
    if isinstance(column, Factor) and column.levels == ["FALSE", "TRUE"]:
        return np.where(column.codes < 0, np.nan, column.codes)
    return column


def _in_order(columns: Columns, rows: Data, labels: Any) -> Columns:
    """Columns reordered by their labels to the rows of the responses."""
    import pandas as pd

    places = np.asarray(aligned("covariates", pd.Series(np.arange(rows.rows), rows.index), labels))
    return {name: rows_of(column, places) for name, column in columns.items()}


def _frame_of(answer: Answer) -> Any:
    columns = answer.columns(kept_first=True)
    return result_frame({**columns, "response": factor_texts(columns["response"])})
