# SPDX-License-Identifier: Apache-2.0
"""The class of models."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ctypes import byref, c_char_p, c_size_t, c_uint64
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _native
from ._columns import (
    Column,
    Columns,
    Data,
    Factor,
    File,
    Numbers,
    data_of,
    give_arrays,
    names_in,
    paths_of,
    result_frame,
    rows_of,
)
from ._errors import InputError, UsageError
from ._report import Report, report, report_of
from ._table import Answer, Table, columns_of, naming_columns

if TYPE_CHECKING:
    from ._plot import PartialResiduals
    from ._portable import PortableModel

PredictionType = Literal["link", "response", "terms", "iterms", "lpmatrix"]
ResidualType = Literal["deviance", "pearson", "response", "working", "all"]
Progress = bool | Callable[[str], None] | None

_JOB_OPTIONS = {
    # Options: job -nthreads
    "device",
    "on_device_failure",
    "score_model",
    "allow_sharing",
    "memory_fraction",
    "threads",
    # End of options
}
_TABLE_OPTIONS = {
    # Options: table
    "na_strings",
    "factor",
    "numeric",
    "date",
    "block_rows",
    "sep",
    "dec",
    "comment",
    "header",
    "skip",
    # End of options
}
_RUG_ROWS = 500
_MOST_POINTS = 5000


class _Number:
    """A property with a number of the fitted model."""

    def __init__(self, name: str, meaning: str) -> None:
        self.name = name
        self.__doc__ = meaning

    def __get__(self, model: GAM | None, owner: type) -> Any:
        return self if model is None else float(model._values(self.name)[0])


class GAM:
    """A generalized additive model, with the results of mgcv's `bam(formula, family, method="fREML")`.

    Options have their names in bam and tessera-fit, with "_" for "." and "-". None: the engine's default.

    Parameters
    ----------
    formula
        In R's notation: ``"y ~ region + s(x) + te(x, z, bs='cr', k=5)"``. For a family with several linear
        predictors a list with a formula for each, and for terms that they share: ``["y ~ s(x)", "~ s(x)",
        "1 + 2 ~ s(z) - 1"]``.
    family
        "gaussian", "binomial", "poisson", "gamma", "nb", "tw", "scat", "betar", "ocat(R=4)", "cnorm", "elf(qu=0.9)", "zip", …, as "gamma(inverse)" also
        with a link, or "@FILE" with a custom family; with several linear predictors "gaulss", "gammals", "gumbls",
        "gevlss", "shash", "twlss", "ziplss" and "multinom(K=2)".
    link
        Link function of the family, such as probit.
    method
        fREML, the criterion by which smoothing parameters are estimated (default: fREML).
    knots
        Limits or knots of variables: {'month': [0.5, 12.5]}.
    sp
        Smoothing parameters, in the order of the smooths: [0.6, -1]; negative values are estimated.
    min_sp
        Values added to the smoothing parameters, one for each penalty, as gam's min.sp: [0.1, 0, 0].
    para_pen
        Penalties of parametric terms, as gam's paraPen: matrices by term, {'g': [S1, S2]}, or {'g': {'S': [S1, S2],
        'rank': [4, 3], 'sp': [-1, 2]}}; or a JSON file of these.
    select
        Penalise the null spaces of smooths, so that they may leave the model (default: False).
    gamma
        Values above 1 give smoother fits, as mgcv's gamma (default: 1).
    weights
        Prior weights: a column, or an expression of R.
    offset
        Expression added to the predictor in fits, but not in predictions.
    subset
        Condition on the rows that are fitted, as in R: 'year > 2000'.
    rho
        Correlation of the residuals of neighbouring rows, as bam's rho; auto: that of least fREML (default: 0).
    AR_start
        TRUE in rows where a series of correlated residuals begins, as bam's AR.start: a column or an expression.
    levels
        Levels of factors in order, the reference first: {'site': ['cape', 'bay']}; other values are missing.
    ordered
        Columns that are ordered factors: 'dose', or with levels {'dose': ['low', 'mid', 'high']}.
    drop_unused_levels
        Drop levels without a row in the fit (default: True).
    residuals
        Store residuals of sampled rows, typical values and occupancy in the model (default: True).
    sample
        Number of rows of the table to store in the model (default: 0).
    max_iterations
        Maximum number of iterations (default: 200).
    tolerance
        Convergence tolerance: largest relative change of the deviance (default: 1e-12).
    step_tolerance
        Convergence tolerance: largest relative change of the linear predictor (default: 1e-09).
    largest_tested_effect
        Maximum number of coefficients p of a random effect that is tested; a test costs p^3 (default: 1000).
    checkpoint
        Checkpoint file, written after every iteration; the same fit resumes from it.
    memory
        Memory limit per node for columns, such as 2G; more columns are kept in scratch files (default: 3/4 of free
        memory).
    scratch
        Folder for scratch files, on a disk (default: $TMPDIR or /var/tmp).
    device_memory
        Memory limit per GPU for columns and workspace; more columns are uploaded in each pass (default: half).
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
    nthreads
        The same as threads, with bam's name (default: 0).
    na_strings
        Of files: fields that mean a missing value: ['NA', ''] are NA and the empty field (default: NA).
    factor
        Of files: columns to read as factors, even if numeric.
    numeric
        Of files: columns to read as numbers, even if quoted.
    date
        Of files: columns of ISO dates, read as days since 1970-01-01, or of times, as seconds since 1970-01-01 UTC.
    block_rows
        Rows per block of the reproducible sums (default: 8192).
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

    Examples
    --------
    >>> import numpy as np
    >>> from tessera_gam import GAM
    >>> x = np.linspace(0, 1, 200)
    >>> m = GAM("y ~ s(x)").fit({"x": x, "y": np.sin(6 * x)})
    >>> m.predict({"x": [0.5]}).round(2)
    array([0.14])
    """

    AIC = _Number("AIC", "AIC(m) of R: of edf that count the uncertainty of smoothing parameters.")
    aic_edf_total = _Number("aic", "AIC with `edf_total` degrees of freedom, which the summary prints: m$aic of mgcv.")
    deviance = _Number("deviance", "The deviance.")
    deviance_explained = _Number("deviance_explained", "The part of the null deviance that is explained, 0 to 1.")
    edf_total = _Number("edf_total", "The sum of the effective degrees of freedom.")
    log_likelihood = _Number("log_likelihood", "The log likelihood; NaN for quasi families.")
    n_dropped = _Number("n_dropped", "Rows outside the subset or with a missing value, which are left out.")
    n_iterations = _Number("iterations", "Iterations of the fit.")
    null_deviance = _Number("null_deviance", "The deviance of the model with only an intercept and the offset.")
    nobs = _Number("n", "Rows of the fit.")
    reml = _Number("reml", "The REML score at its minimum.")
    residual_df = _Number("residual_df", "Residual degrees of freedom.")
    rsquared_adj = _Number("r_squared_adjusted", "The adjusted R squared.")
    scale = _Number("scale", "The scale, or residual variance.")

    def __init__(
        self,
        formula: str | Sequence[str],
        family: str = "gaussian",
        *,
        # Options: fit -family job table
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
        nthreads: int | None = None,
        na_strings: Sequence[str] | str | None = None,
        factor: Sequence[str] | str | None = None,
        numeric: Sequence[str] | str | None = None,
        date: Sequence[str] | str | None = None,
        block_rows: int | None = None,
        sep: str | None = None,
        dec: str | None = None,
        comment: str | None = None,
        header: bool | None = None,
        skip: int | None = None,
        # End of options
    ) -> None:
        self.options = _given(locals(), "formula", "family")
        if not isinstance(formula, str) and isinstance(formula, Sequence):
            formula = f"list({', '.join(map(str, formula))})"
        self.formula = formula
        self.family = family
        if nthreads is not None:
            self.options.setdefault("threads", self.options.pop("nthreads"))
        self._model: _native.Handle | None = None
        self._portable: PortableModel | None = None
        self._rug: dict[str, Numbers] = {}
        self._rows: _Rows | None = None

    def fit(
        self,
        data: Any,
        *,
        weights: Any = None,
        offset: Any = None,
        subset: Any = None,
        AR_start: Any = None,
        progress: Progress = None,
        launcher: str | None = None,
        program: str | os.PathLike[str] | None = None,
        workdir: str | os.PathLike[str] | None = None,
        comm: Any = None,
    ) -> GAM:
        """Fits the model to a table, and returns the model. Rows with missing values are left out, and counted.

        Parameters
        ----------
        data
            A pandas or polars frame, an Arrow table, a dict of arrays of n values, a structured array, or the path of
            a file or folder; several paths are one table. Files: CSV (also .gz), HDF5 by h5py, Parquet or Feather by
            pyarrow. Subfolders named KEY=VALUE are columns. Texts, truth values and categoricals are factors. Numbers
            in float64 are not copied: do not change them while the fit runs. The model keeps a reference to the data
            for `residuals` and `fittedvalues`.
        weights, offset, subset, AR_start
            As in bam: prior weights; a known part of the linear predictor; the rows of the fit; and the rows where a
            series of correlated residuals begins. Each is a column's name, an expression such as "x > 0", or an array
            of n values in the order of the rows; a pandas Series is matched by the labels of the data's rows.
        progress
            True: show the current activity. A function: called with each line of progress; an exception from it ends
            the fit, like Ctrl-C. Lines for a log go to `logging.getLogger("tessera_gam")`.
        launcher
            A command such as "mpirun -np 8" or "srun", which starts tessera-fit for the fit, on all nodes of the job.
        program, workdir
            With a launcher: the path of tessera-fit, of this package's version (default: $TESSERA_FIT, or from PATH);
            and a folder on all nodes, in which data from memory are written temporarily.
        comm
            A communicator of mpi4py. All its processes call `fit` with their part of the rows, or with the same CSV
            file, and get the model, with the bits of a fit of all rows. The library must use the same MPI: name it in
            $TESSERA_GAM_LIBRARY, because the library of a wheel has no MPI.
        """
        handle = None
        _native.encoded(self.formula, "the formula")
        if comm is not None:
            from . import _comm

            if launcher is not None:
                raise UsageError("comm and launcher are both given: leave one of them out")
            handle = _comm.handle_of(comm)
        given = {"weights": weights, "offset": offset, "subset": subset, "AR_start": AR_start}
        given = {name: self.options.get(name) if one is None else one for name, one in given.items()}
        expressions = {name: one for name, one in given.items() if isinstance(one, str)}
        arrays = _arrays(given)
        read = " + ".join([self.formula, *expressions.values()])
        if comm is None:
            table = self._table(data, read, arrays, launcher is not None, needs_rows=True)
        else:
            table = self._table_over(comm, data, read, arrays)
        options = {"family": self.family, **self.options, **expressions, **{name[1:]: name for name in arrays}}
        if launcher is None:
            options = {name: value for name, value in options.items() if name not in _TABLE_OPTIONS}
            self._model = self._fit_here(table, options, progress, handle)
        else:
            from . import _launch

            path = _launch.program_path(program)
            with _launch.folder_in(workdir) as folder:
                rows = table.file or table.columns
                self._model = self.load(_launch.fit(launcher, path, self.formula, rows, options, folder))._model
        self._rug = _rug(table.columns)
        self._rows = _Rows(data, read, arrays) if comm is None else None
        for fault in (self._text("no_estimate"), self._text("why_not_converged")):
            if fault:
                _native.warn(fault)
        return self

    def _fit_here(
        self, table: Table, options: Mapping[str, Any], progress: Progress, comm: int | None
    ) -> _native.Handle:
        fitted = _native.Handle("model")
        run = _native.interruptible if comm is None else _native.on_this_thread
        formula = _native.encoded(self.formula, "the formula")
        with _shown(progress) as report, naming_columns(table):
            run(
                lambda call: _native.call("fit", formula, table.number, call, fitted.to),
                _native.option_texts({**options, "comm": comm}),
                report,
            )
        return fitted

    # Properties of the model

    @property
    def params(self) -> Any:
        """The p coefficients as a pandas Series by name; without pandas an array with the names `param_names`."""
        return _labelled(self._values("coefficients"), self.param_names)

    @property
    def param_names(self) -> list[str]:
        """The names of the p coefficients."""
        return self._texts("coefficients")

    @property
    def cov(self) -> npt.NDArray[np.float64]:
        """The posterior covariance of the coefficients, p x p; NaN for random effects too large to compute it."""
        return self._values("covariance")

    @property
    def bse(self) -> Any:
        """Standard errors of the p coefficients, the square roots of the diagonal of `cov`; form as for `params`."""
        return _labelled(np.sqrt(np.diag(self.cov)), self.param_names)

    def conf_int(self, level: float = 0.95) -> Any:
        """Confidence limits "lower" and "upper" of each coefficient, for this probability and a normal distribution, as
        `confint.default(m)` in R: a frame of p rows by name; without pandas a dict of arrays.
        """
        from statistics import NormalDist

        if not 0 < level < 1:
            raise UsageError(f"level={level}: give a probability above 0 and below 1")
        params, half = self._values("coefficients"), NormalDist().inv_cdf((1 + level) / 2) * np.sqrt(np.diag(self.cov))
        return _labelled_frame({"lower": params - half, "upper": params + half}, self.param_names)

    @property
    def edf(self) -> Any:
        """The effective degrees of freedom of the p coefficients; form as for `params`. For smooths see `summary`."""
        return _labelled(self._values("edf"), self.param_names)

    @property
    def sp(self) -> Numbers:
        """The smoothing parameters, in the order of mgcv's `m$sp`."""
        return self._values("sp")

    @property
    def aic(self) -> float:
        """Deprecated alias of `aic_edf_total`, because the name differs from `AIC` only by case."""
        message = "aic is deprecated: use aic_edf_total, the same number, or AIC, the number of R's AIC(m)"
        warnings.warn(message, DeprecationWarning, 2)
        return float(self.aic_edf_total)

    @property
    def bic(self) -> float:
        """BIC as `BIC(m)` in R."""
        df = float(self._values("log_likelihood_df")[0])
        return math.log(self.nobs) * df - 2 * float(self.log_likelihood)

    @property
    def converged(self) -> bool:
        """Whether the fit has converged."""
        return bool(self._values("converged")[0])

    @property
    def verdict(self) -> str:
        """The hardware on which the model was computed, in one line."""
        return self._text("verdict")

    @property
    def smooth_names(self) -> list[str]:
        """The labels of the smooths: "s(x)", "s(x):ga"."""
        return self._texts("smooths")

    # Rows of the fit

    @property
    def fittedvalues(self) -> Any:
        """The means of the rows of the fit, as `fitted(m)` in R; form as for `residuals`."""
        return self._of_rows("fitted", self._own_rows())

    @property
    def resid(self) -> Any:
        """Deviance residuals, as `resid(m)` in R: the same as `residuals()`."""
        return self.residuals()

    def residuals(
        self,
        type: ResidualType = "deviance",
        data: Any = None,
        *,
        weights: Any = None,
        offset: Any = None,
        subset: Any = None,
        AR_start: Any = None,
        progress: Progress = None,
    ) -> Any:
        """Residuals of the rows of the fit, as `residuals(m, type)` in mgcv; NaN for rows that the fit left out.

        For a row with mean mu, response y and weight w: "deviance", the square root of its deviance with the sign of
        y - mu; "pearson", (y - mu) sqrt(w / V(mu)); "response", y - mu; "working", (y - mu) times the slope of the
        link; "all", a table of all types, "fitted", "linear_predictor" and "working_weight". Families with several
        linear predictors have the first three types, and "all" of these. The kind of the result is that of the data, as
        in `predict`. A model that was loaded, copied or fitted with `comm` does not keep the rows of its fit: give data
        and arrays as for the fit.
        """
        arrays = {"weights": weights, "offset": offset, "subset": subset, "AR_start": AR_start}
        rows = self._own_rows() if data is None else _Rows(data, None, _arrays(arrays))
        return self._of_rows(type, rows, progress)

    def _own_rows(self) -> _Rows:
        if self._fitted and self._rows is None:
            raise UsageError(
                "the model does not keep its rows, as it was loaded, copied or fitted with comm=: give them as data="
            )
        assert self._rows is not None
        return self._rows

    def _of_rows(self, type: str, rows: _Rows, progress: Progress = None) -> Any:
        table = self._table(*rows, needs_rows=True)
        options = self._threads | {"type": type}
        columns = self._answer("residuals", table, options=options, progress=progress).columns()
        if type == "all":
            return table.data.give(columns) if isinstance(table.data, Data) else give_arrays(columns)
        values = columns["residual"]
        assert not isinstance(values, Factor)
        if type in ("pearson", "response") and np.isnan(values).all():
            raise UsageError(f"the family {self.family} has no residuals of the type {type}: use deviance residuals")
        return table.data.give_one(type, values) if isinstance(table.data, Data) else values

    # Reports

    def summary(self) -> Report:
        """The summary, as `summary(m)` in mgcv. `frame("smooths")` and `frame("coefficients")` are its tables."""
        return report("summary", self._fitted.number)

    def anova(self, *others: GAM, test: Literal["F", "Chisq", "none", "auto"] = "auto") -> Report:
        """Tests of this model's terms; with other models of the same rows, an analysis of deviance of all."""
        models = [self, *others]
        handles = (c_uint64 * len(models))(*(model._fitted.number.value for model in models))
        return report("anova", handles, len(models), _native.encoded(test, "test"))

    def check(
        self,
        data: Any,
        *,
        weights: Any = None,
        offset: Any = None,
        subset: Any = None,
        AR_start: Any = None,
        progress: Progress = None,
        # Options: check job.threads
        seed: int | None = None,
        sample: int | None = None,
        permutations: int | None = None,
        largest_concurvity: int | None = None,
        autocorrelation: int | None = None,
        series: str | None = None,
        memory: int | str | None = None,
        scratch: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        # End of options
    ) -> Report:
        """Checks bases, residuals and concurvity of the model with the table of its fit.

        Parameters
        ----------
        data
            The rows of the fit.
        weights, offset, subset, AR_start
            The arrays given to `fit`.
        progress
            As for `fit`.
        seed
            Seed of the sample and the permutations (default: 1).
        sample
            Maximum number of rows in the check of bases (default: 5000).
        permutations
            Permutations for the p-values of bases (default: 400).
        largest_concurvity
            Maximum number of coefficients for which concurvity is computed (default: 1000).
        autocorrelation
            Number of lags of the autocorrelation of residuals, in the order of the rows (default: 0).
        series
            Column that identifies the series of the autocorrelation.
        memory
            Memory limit per node for columns, such as 2G; more columns are kept in scratch files (default: 3/4 of free
            memory).
        scratch
            Folder for scratch files, on a disk (default: $TMPDIR or /var/tmp).
        threads
            Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
        """
        options = _given(locals(), "data", "weights", "offset", "subset", "AR_start", "progress")
        arrays = {"weights": weights, "offset": offset, "subset": subset, "AR_start": AR_start}
        table = self._table(data, None, _arrays(arrays), needs_rows=True)
        return self._check(table, options, progress)

    def _check(self, table: Table, options: Mapping[str, Any], progress: Progress = None) -> Report:
        with _shown(progress) as shown, naming_columns(table):
            return report_of(
                _native.interruptible(
                    lambda call: _native.text("check", self._fitted.number, table.number, call, _native.BOTH_FORMS),
                    _native.option_texts({**self._job_options, **options}),
                    shown,
                )
            )

    def concurvity(
        self,
        data: Any,
        full: bool = True,
        *,
        weights: Any = None,
        offset: Any = None,
        subset: Any = None,
        AR_start: Any = None,
    ) -> Any:
        """Concurvity: how much of each term the other terms explain, from 0 to 1, as `concurvity(m, full)` in mgcv.

        A frame with a row for each of k terms and the columns "worst", "observed" and "estimate". With `full=False`
        a dict with these three keys: k x k frames of how much of the column's term the row's term explains. Data and
        arrays are those of the fit.
        """
        arrays = {"weights": weights, "offset": offset, "subset": subset, "AR_start": AR_start}
        table = self._table(data, None, _arrays(arrays), needs_rows=True)
        found = self._check(table, {"permutations": 1, "sample": 4})["concurvity"]
        terms = {"term": np.array(found["terms"], object)}
        if full:
            return result_frame(terms | {name: np.array(values) for name, values in found["whole"].items()})
        return {
            name: result_frame(terms | dict(zip(found["terms"], np.array(values).T, strict=True)))
            for name, values in found["pairwise"].items()
        }

    # Predictions

    def predict(
        self,
        new: Any,
        type: PredictionType = "link",
        se: bool = False,
        *,
        progress: Progress = None,
        # Options: predict -type -se -se-fit job -nthreads
        terms: Sequence[str] | str | None = None,
        exclude: Sequence[str] | str | None = None,
        new_levels: Literal["mgcv", "population", "na", "error"] | None = None,
        interval: float | None = None,
        prediction_interval: float | None = None,
        unconditional: bool | None = None,
        draws: int | None = None,
        seed: int | None = None,
        keep: Sequence[str] | str | None = None,
        memory: int | str | None = None,
        device: Literal["auto", "gpu", "cpu"] | None = None,
        on_device_failure: Literal["cpu", "error", "exclude"] | None = None,
        score_model: Literal["spec", "throughput"] | None = None,
        allow_sharing: bool | None = None,
        memory_fraction: float | None = None,
        threads: int | None = None,
        # End of options
    ) -> Any:
        """Predicts the rows of a table, as `predict.gam` in mgcv. Rows with missing values give NaN.

        Parameters
        ----------
        new
            A table of any kind that `fit` takes.
        type
            "link": the linear predictor; "response": the mean; "terms" and "iterms": the contribution of each term;
            "lpmatrix": the model matrix.
        se
            Add standard errors: a column "se"; for terms columns such as "s(x).se".
        progress
            As for `fit`.
        terms
            Only these terms, named as in the summary; (Intercept) is a term.
        exclude
            Leave out these terms; the table may lack columns that only they use.
        new_levels
            For levels not in the fit: mgcv: random effects add 0, other terms are NA; population: factor smooths add 0
            too; na: all terms of these levels are NA; error: an error (default: mgcv).
        interval
            Probability of credible intervals, such as 0.95; 0: no intervals (default: 0).
        prediction_interval
            With type response: probability of intervals for a new response; 0: no intervals (default: 0).
        unconditional
            Standard errors and intervals with the uncertainty of the smoothing parameters (default: False).
        draws
            With type link or response: number of draws of the coefficients from their posterior distribution, with a
            prediction for each; 0: predict at the estimate (default: 0).
        seed
            Seed of the random draws (default: 1).
        keep
            Columns of the table to copy to the output, or all.
        memory
            Memory limit per node for rows, such as 2G; a larger table is predicted in parts (default: 3/4 of free
            memory).
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

        Returns
        -------
        For a pandas or polars frame or an Arrow table, a frame of the same kind with its index, or its single column.
        For other kinds an array of n values (n x p for lpmatrix), or for several columns a dict of arrays.
        """
        options = _given(locals(), "new", "progress")
        if self._portable is not None:
            names = names_in(self.formula)
            found = data_of(new, names, hdf5_here=True)
            fit = self._portable.predict(found, names, _native.why_missing(), options)
            return found.give_one("fit", fit) if isinstance(found, Data) else fit
        data, table = self._new_table(new, options)
        answer = self._answer("predict", table, progress=progress, options=self._job_options | options)
        columns = answer.columns()
        if len(columns) == 1 and type in ("link", "response"):
            [(name, only)] = columns.items()
            if not isinstance(only, Factor):
                return data.give_one(name, only) if isinstance(data, Data) else only
        if isinstance(data, Data) and data.give is not give_arrays:
            return data.give(columns)
        if type == "lpmatrix":
            numbers = [column for column in columns.values() if not isinstance(column, Factor)]
            return np.column_stack(numbers) if numbers else np.empty((answer.extent().rows, 0))
        return give_arrays(columns)

    def simulate(
        self,
        draws: int = 1,
        new: Any = None,
        what: Literal["responses", "coefficients", "smooths"] | None = None,
        *,
        progress: Progress = None,
        # Options: simulate -draws smooths.terms smooths.points job.threads
        seed: int | None = None,
        unconditional: bool | None = None,
        posterior_predictive: bool | None = None,
        weights: str | None = None,
        new_levels: Literal["mgcv", "population", "na", "error"] | None = None,
        keep: Sequence[str] | str | None = None,
        terms: Sequence[str] | str | None = None,
        points: int | None = None,
        threads: int | None = None,
        # End of options
    ) -> Any:
        """Draws from the posterior: new responses for the rows of `new` (a column per draw, in the kind of `new`);
        without `new`, coefficients (a row per draw); or smooths on their grids (a column per draw).

        Parameters
        ----------
        draws
            The number of draws.
        new
            For responses: a table of any kind that `fit` takes.
        what
            The drawn quantity (default: responses of `new`, or coefficients).
        progress
            As for `fit`.
        seed
            Seed of the random numbers (default: 1).
        unconditional
            Draws of the coefficients with the uncertainty of the smoothing parameters (default: False).
        posterior_predictive
            For responses: draw the coefficients anew for each draw, in place of their estimates (default: False).
        weights
            For responses: the table's column of prior weights, or of binomial trials; default: 1.
        new_levels
            For levels not in the fit: mgcv: random effects add 0, other terms are NA; population: factor smooths add 0
            too; na: all terms of these levels are NA; error: an error (default: mgcv).
        keep
            For responses: columns of the table to copy to the output.
        terms
            Only these smooths, named as in the summary; default: all.
        points
            Grid points per numeric variable; 0: 100 for smooths of one such variable, 40 of two, 15 of three, 6 of more
            (default: 0).
        threads
            Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
        """
        options = self._threads | _given(locals(), "new", "what", "progress")
        what = what or ("coefficients" if new is None else "responses")
        if what != "responses":
            answer = self._answer(f"simulate_{what}", options=options)
            return result_frame(answer.columns(kept_first=True))
        data, table = self._new_table(new, options)
        columns = self._answer("simulate_responses", table, progress=progress, options=options).columns()
        return data.give(columns) if isinstance(data, Data) else give_arrays(columns)

    def differences(
        self,
        minuend: Any,
        subtrahend: Any,
        *,
        # Options: predict -type -se -se-fit -prediction-interval -draws -seed -memory job.threads
        terms: Sequence[str] | str | None = None,
        exclude: Sequence[str] | str | None = None,
        new_levels: Literal["mgcv", "population", "na", "error"] | None = None,
        interval: float | None = None,
        unconditional: bool | None = None,
        keep: Sequence[str] | str | None = None,
        threads: int | None = None,
        # End of options
    ) -> Any:
        """Differences of the linear predictors of two tables, row by row, with standard errors and bands.

        Parameters
        ----------
        minuend, subtrahend
            Tables with equal numbers of rows, of any kind that `fit` takes. The result has the kind of `minuend`.
        terms
            Only these terms, named as in the summary; (Intercept) is a term.
        exclude
            Leave out these terms; the table may lack columns that only they use.
        new_levels
            For levels not in the fit: mgcv: random effects add 0, other terms are NA; population: factor smooths add 0
            too; na: all terms of these levels are NA; error: an error (default: mgcv).
        interval
            Probability of credible intervals, such as 0.95; 0: no intervals (default: 0).
        unconditional
            Standard errors and intervals with the uncertainty of the smoothing parameters (default: False).
        keep
            Columns of the table to copy to the output, or all.
        threads
            Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
        """
        options = _given(locals(), "minuend", "subtrahend")
        data, first = self._new_table(minuend, options)
        _, second = self._new_table(subtrahend, options)
        columns = self._answer("table_differences", first, second, options=self._threads | options).columns()
        return data.give(columns) if isinstance(data, Data) else give_arrays(columns)

    # Smooths

    def smooths(
        self,
        *,
        # Options: smooths job.threads
        terms: Sequence[str] | str | None = None,
        points: int | None = None,
        interval: float | None = None,
        draws: int | None = None,
        seed: int | None = None,
        unconditional: bool | None = None,
        threads: int | None = None,
        # End of options
    ) -> Any:
        """Evaluates each smooth on a grid, as `smooth_estimates` in gratia: a data frame (without pandas a dict of
        arrays) with the smooth's label, its variables, "fit", "se", and pointwise and simultaneous bands.

        Parameters
        ----------
        terms
            Only these smooths, named as in the summary; default: all.
        points
            Grid points per numeric variable; 0: 100 for smooths of one such variable, 40 of two, 15 of three, 6 of more
            (default: 0).
        interval
            Probability of the bands; 0: no bands (default: 0.95).
        draws
            Number of posterior draws for simultaneous bands; 0: no simultaneous bands (default: 10000).
        seed
            Seed of the random draws (default: 1).
        unconditional
            Standard errors and bands with the uncertainty of the smoothing parameters (default: False).
        threads
            Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
        """
        return result_frame(self._on_grids("smooths", _given(locals())))

    def derivatives(
        self,
        *,
        # Options: smooths derivatives job.threads
        terms: Sequence[str] | str | None = None,
        points: int | None = None,
        interval: float | None = None,
        draws: int | None = None,
        seed: int | None = None,
        unconditional: bool | None = None,
        order: int | None = None,
        variables: Sequence[str] | str | None = None,
        threads: int | None = None,
        # End of options
    ) -> Any:
        """Derivatives of smooths on a grid, as `derivatives` in gratia: a frame like that of `smooths`.

        Parameters
        ----------
        terms
            Only these smooths, named as in the summary; default: all.
        points
            Grid points per numeric variable; 0: 100 for smooths of one such variable, 40 of two, 15 of three, 6 of more
            (default: 0).
        interval
            Probability of the bands; 0: no bands (default: 0.95).
        draws
            Number of posterior draws for simultaneous bands; 0: no simultaneous bands (default: 10000).
        seed
            Seed of the random draws (default: 1).
        unconditional
            Standard errors and bands with the uncertainty of the smoothing parameters (default: False).
        order
            Order of the derivatives, 1 or 2 (default: 1).
        variables
            Only derivatives by these variables; default: all.
        threads
            Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
        """
        return result_frame(self._on_grids("derivatives", _given(locals())))

    def level_differences(
        self,
        *,
        # Options: smooths job.threads
        terms: Sequence[str] | str | None = None,
        points: int | None = None,
        interval: float | None = None,
        draws: int | None = None,
        seed: int | None = None,
        unconditional: bool | None = None,
        threads: int | None = None,
        # End of options
    ) -> Any:
        """Differences of smooths between levels of a factor, as `difference_smooths` in gratia: a frame like that of
        `smooths`.

        Parameters
        ----------
        terms
            Only these smooths, named as in the summary; default: all.
        points
            Grid points per numeric variable; 0: 100 for smooths of one such variable, 40 of two, 15 of three, 6 of more
            (default: 0).
        interval
            Probability of the bands; 0: no bands (default: 0.95).
        draws
            Number of posterior draws for simultaneous bands; 0: no simultaneous bands (default: 10000).
        seed
            Seed of the random draws (default: 1).
        unconditional
            Standard errors and bands with the uncertainty of the smoothing parameters (default: False).
        threads
            Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
        """
        return result_frame(self._on_grids("level_differences", _given(locals())))

    def _on_grids(self, function: str, options: dict[str, Any]) -> Columns:
        return self._answer(function, options=self._threads | options).columns(kept_first=True)

    def plot(
        self,
        terms: Iterable[str] | None = None,
        *,
        axes: Any = None,
        data: Any = None,
        residuals: bool = False,
        too_far: float = 0.1,
        # Options: smooths -terms -draws -seed job.threads
        points: int | None = None,
        interval: float | None = None,
        unconditional: bool | None = None,
        threads: int | None = None,
        # End of options
    ) -> Any:
        """Plots each smooth with matplotlib, and returns an array of axes.

        Curves have a pointwise band and a rug of the rows of the fit; curves by a factor share one plot; smooths of two
        numbers are maps with contours; random effects are points against normal quantiles.

        Parameters
        ----------
        terms
            Only these smooths, as the summary names them.
        axes
            Axes to draw on, one for each plot.
        data
            Rows for the rug and the residuals (default: the rows of the fit).
        residuals
            Draw partial residuals on curves: the smooth's contribution to a row's predictor plus the row's weighted
            working residual. A curve for a level shows the rows with this level.
        too_far
            Maps are white at points farther than this from every row of the rug, with width and height as units.
        points
            Grid points per numeric variable; 0: 100 for smooths of one such variable, 40 of two, 15 of three, 6 of more
            (default: 0).
        interval
            Probability of the bands; 0: no bands (default: 0.95).
        unconditional
            Standard errors and bands with the uncertainty of the smoothing parameters (default: False).
        threads
            Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores (default: 0).
        """
        options = _given(locals(), "terms", "axes", "data", "residuals", "too_far")
        from ._plot import plot_smooths

        rug = self._rug
        if data is not None:
            rug = _rug(self._table(data, self._text("formula")).columns)
        partial = self._partial_residuals(data) if residuals else None
        chosen = {} if terms is None else {"terms": _strings(terms)}
        smooths = self._on_grids("smooths", {"draws": 0, **chosen, **options})
        return plot_smooths(smooths, rug, too_far, axes, partial)

    def _partial_residuals(self, data: Any) -> PartialResiduals:
        """Partial residuals of some rows, at even distances."""
        from ._plot import PartialResiduals

        rows = self._own_rows() if data is None else _Rows(data, None, {})
        options = self._threads | {"type": "partial", "variables": True}
        variables = dict(self._answer("residuals", self._table(*rows), options=options).columns())
        residuals = variables.pop("residual")
        assert not isinstance(residuals, Factor)
        _, table = self._new_table(rows.data, {})
        terms = self._answer("predict", table, options=self._threads | {"type": "terms"}).columns()
        kept = np.flatnonzero(np.isfinite(residuals))
        kept = kept[:: -(-len(kept) // _MOST_POINTS) or 1]
        return PartialResiduals(
            residuals[kept],
            {name: column[kept] for name, column in terms.items() if not isinstance(column, Factor)},
            {name: rows_of(column, kept) for name, column in variables.items()},
        )

    # Models in files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to a file for `load` and tessera-fit; docs/model.md describes the format."""
        _native.call("model_save", self._fitted.number, _native.encoded_path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GAM:
        """Reads a model from a file written by `save` or `tessera-fit fit --out`.

        If the library cannot be loaded, the model only predicts, by numpy: types "link" and "response".
        """
        if _native.why_missing():
            from ._portable import PortableModel

            portable = PortableModel(path)
            loaded = cls(portable.model["formula"], portable.model["family"])
            loaded._portable = portable
            return loaded
        model = _native.Handle("model")
        _native.call("model_load", _native.encoded_path(path), model.to)
        return cls._of(model)

    def to_json(self) -> str:
        """The model as one text that keeps the bits of its numbers."""
        return _native.text("model_to_json", self._fitted.number)

    @classmethod
    def from_json(cls, text: str) -> GAM:
        """The model in a text from `to_json`."""
        model = _native.Handle("model")
        encoded = _native.encoded(text, "the text of a model")
        _native.call("model_from_json", encoded, len(encoded), model.to)
        return cls._of(model)

    @classmethod
    def _of(cls, model: _native.Handle) -> GAM:
        loaded = cls("")
        loaded._model = model
        loaded.formula = loaded._text("formula")
        loaded.family = loaded._text("family")
        return loaded

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_model": None if self._model is None else self.to_json(), "_rows": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"_rows": None} | state)
        if state["_model"] is not None:
            self._model = self.from_json(state["_model"])._model

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({self.formula!r}, family={self.family!r}{options})"

    def _repr_html_(self) -> str | None:
        return None if self._model is None else self.summary()._repr_html_()

    # The library

    @property
    def _fitted(self) -> _native.Handle:
        if self._portable is not None:
            raise ImportError(f"this model only predicts: {_native.why_missing()}")
        if self._model is None:
            raise UsageError("the model is not fitted yet: call fit(data)")
        return self._model

    @property
    def _job_options(self) -> dict[str, Any]:
        return {name: value for name, value in self.options.items() if name in _JOB_OPTIONS}

    @property
    def _threads(self) -> dict[str, Any]:
        return {name: value for name, value in self.options.items() if name == "threads"}

    def _values(self, name: str) -> Numbers:
        rows, columns = c_size_t(), c_size_t()
        _native.call("model_shape", self._fitted.number, name.encode(), byref(rows), byref(columns))
        values = np.empty((rows.value, columns.value), order="F")
        _native.call("model_values", self._fitted.number, name.encode(), values.ctypes.data, values.size)
        return values[:, 0] if columns.value == 1 else values

    def _text(self, name: str, index: int = 0) -> str:
        given = c_char_p()
        _native.call("model_text", self._fitted.number, name.encode(), index, byref(given))
        return (given.value or b"").decode()

    def _texts(self, name: str) -> list[str]:
        count = c_size_t()
        _native.call("model_text_count", self._fitted.number, name.encode(), byref(count))
        return [self._text(name, index) for index in range(count.value)]

    @property
    def _table_options(self) -> list[_native.Option]:
        return _native.option_texts({name: value for name, value in self.options.items() if name in _TABLE_OPTIONS})

    def _table(
        self,
        data: Any,
        expressions: str | None,
        arrays: Mapping[str, Any] | None = None,
        for_program: bool = False,
        needs_rows: bool = False,
    ) -> Table:
        """A table of the columns that the expressions use; without expressions, of all columns."""
        names = None if expressions is None else names_in(expressions)
        found = data_of(data, names, not for_program and not _native.reads_hdf5())
        if needs_rows and isinstance(found, Data) and found.rows == 0:
            raise InputError("the data have no rows: give one or more")
        return Table(found, columns_of(found, names, arrays), self._table_options)

    def _table_over(self, comm: Any, data: Any, expressions: str, arrays: Mapping[str, Any]) -> Table:
        """*Collective.* A table of this process' part of the rows."""
        from . import _comm

        def read() -> tuple[Data | File, Columns]:
            found = data_of(data, names_in(expressions))
            if paths_of(data) and not isinstance(found, File):
                raise UsageError(f"{paths_of(data)[0]}: with comm= give each process a frame with its part of the rows")
            return found, columns_of(found, names_in(expressions), arrays)

        found, columns = _comm.on_all(comm, read)
        everywhere = _comm.levels_of_all(comm, columns)
        return _comm.on_all(comm, lambda: Table(found, _comm.with_levels(columns, everywhere), self._table_options))

    def _new_table(self, new: Any, options: Mapping[str, Any]) -> tuple[Data | File, Table]:
        """A table of the columns in the formula and the columns to keep."""
        names = names_in(self._text("formula")) | set(_strings(options.get("keep")))
        names |= names_in(str(options.get("weights", "")))  # for weights of simulated responses
        data = data_of(new, names, not _native.reads_hdf5())
        columns = self._without_values(columns_of(data, names))
        return data, Table(data, columns, self._table_options)

    def _without_values(self, columns: Columns) -> Columns:
        """Columns without any value have no type: they become factors if they are factors in the model."""
        missing = [name for name, one in columns.items() if not isinstance(one, Factor) and _all_missing(one)]
        if not missing:
            return columns
        import json

        factors: set[str] = set()
        for variable in json.loads(self.to_json())["design"]["variables"]:
            factors |= names_in(variable["name"]) if "levels" in variable else set()
        none = {name: _no_levels(columns[name]) for name in missing if name in factors}
        return {**columns, **none}

    def _answer(self, function: str, *tables: Table, options: Mapping[str, Any], progress: Progress = None) -> Answer:
        answer = Answer(any(table.is_empty for table in tables))
        model = self._fitted
        with _shown(progress) as report, naming_columns(*tables):
            _native.interruptible(
                lambda call: _native.call(function, model.number, *(table.number for table in tables), call, answer.to),
                _native.option_texts(options),
                report,
            )
        for remark in answer.remarks():
            _native.warn(remark)
        return answer


class _Rows(NamedTuple):
    """The rows of a fit: arguments for `GAM._table`."""

    data: Any
    read: str | None
    arrays: Mapping[str, Any]


def _given(arguments: Mapping[str, Any], *others: str) -> dict[str, Any]:
    """The options given to a function: its arguments (`locals()` on its first line) except `others`."""
    return {name: one for name, one in arguments.items() if one is not None and name not in ("self", *others)}


def _arrays(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that are values, not column names or expressions, by the names of the columns that they become."""
    return {f".{name}": one for name, one in given.items() if one is not None and not isinstance(one, str)}


def _no_levels(column: Column) -> Factor:
    assert not isinstance(column, Factor)
    return Factor(np.full(len(column), -1, np.int32), [])


def _all_missing(numbers: Numbers) -> bool:
    return len(numbers) == 0 or bool(np.isnan(numbers[0]) and np.isnan(numbers).all())


def _strings(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])


def _rug(columns: Columns) -> dict[str, Numbers]:
    """Some values of each numeric column, at even distances in the rows, for plots."""
    return {
        name: column[:: max(1, len(column) // _RUG_ROWS)].copy()
        for name, column in columns.items()
        if not isinstance(column, Factor)
    }


def _labelled(values: Numbers, names: list[str]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return values
    return pd.Series(values, index=names)


def _labelled_frame(columns: dict[str, Numbers], names: list[str]) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return columns
    return pd.DataFrame(columns, index=names)


@contextlib.contextmanager
def _shown(progress: Progress) -> Iterator[Callable[[str], None] | None]:
    """The function that is called with each line of progress."""
    if progress is None or progress is False or callable(progress):
        yield progress if callable(progress) else None
    elif "ipykernel" in sys.modules:
        from IPython.display import display

        line = display({"text/plain": ""}, raw=True, display_id=True)
        yield lambda what: line.update({"text/plain": what}, raw=True)
        line.update({"text/plain": ""}, raw=True)
    else:
        try:
            yield lambda what: print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)
        finally:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
