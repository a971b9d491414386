# SPDX-License-Identifier: Apache-2.0
"""Unusual inputs by every way into the library: the same bits, or all refuse. docs/python.md: differences by design.

Without a launcher the test starts three processes of itself, for fits of one, two and three ranks.
"""

from __future__ import annotations

import csv
import ctypes
import difflib
import functools
import os
import shutil
import subprocess
import sys
import unittest
import warnings
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
from support import InFolder, main, needs

from tessera_gam import GAM, _launch, _native

RANKS = 3
UNDER_LAUNCHER = "TESSERA_TEST_RANKS" in os.environ
ROWS = 60


@dataclass(frozen=True)
class Levels:
    """A factor: for each row the index of its level, or -1. `is_given`: the caller gives the order of the levels."""

    codes: np.ndarray
    levels: list[str]
    is_given: bool = False
    is_ordered: bool = False

    def texts(self, missing=None):
        return np.array([*self.levels, missing], object)[self.codes]


@dataclass(frozen=True)
class Case:
    name: str
    formula: str
    columns: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    is_refused: bool = False
    in_files: bool = True
    """Whether a CSV or HDF5 file can represent the same data without options."""

    def has(self, **what):
        factors = [one for one in self.columns.values() if isinstance(one, Levels)]
        return any(getattr(one, name) == value for one in factors for name, value in what.items())


# The inputs


def numbers():
    random = np.random.default_rng(48)
    x, z = random.random(ROWS), random.random(ROWS)
    return {"y": np.sin(6 * x) + z + random.normal(0, 0.3, ROWS), "x": x, "z": z}


BASE = numbers()
CODES = np.random.default_rng(12).integers(0, 3, (8, ROWS)).astype(np.int32)
CODES[:, :3] = [2, 0, 1]  # not in the order of the levels; each level occurs
TRUTHS = CODES[0] > 0

LEVELS = [
    ("", "b", "c"), (" a", "b", "c"), ("a ", "b", " "), ("T", "F", "b"), ("true", "false", "b"),
    ("TRUE", "FALSE"), ("1", "2", "10"), ("01", "1", "2"), ("1e5", "2", "3"), ("0x10", "16", "20"), ("1_0", "2", "3"),
    ("１", "2", "3"), ("inf", "2", "-Inf"), ("Inf", "NaN", "3"), ("nan", "b", "c"), ("NaN", "b", "c"),
    ("N/A", "null", "None"), ("-0", "0", "1"), ("+1", "1", "2"), ("1.", "1", "1.0"), (".5", "0.5", "1"),
    ("1d5", "2", "3"), ("1L", "2", "3"), ("a,b", "c", "d"), ('a"b', "c", "d"), ("a\nb", "c", "d"), ("a\rb", "c", "d"),
    ("a\tb", "c\r\nd", "d"), ("\ufeffa", "b", "c"), ("é", "e", "f"), ("Z", "a", "B"), ("'a'", "b", "`c`"),
    ("#a", "b", "c"), ("1 000", "2", "3"), ("1,5", "2,5", "3"), ("9007199254740993", "9007199254740992", "1"),
    ("0.1", "0.10", "1"), ("1e400", "2", "3"), ("1e-400", "0", "3"), ("=1+1", "@c", "c=d"), ("a\\b", "c", "d"),
    ("<b>", "c", "d"), ("NULL", "b", "c"), ("NA ", "b", "c"), ('"', '""', 'a"'), ("Infinity", "1", "2"),
    ("0x1p3", "9", "8.5"), ("∞", "1", "2"), ("٣", "1", "2"), ("\x01a", "b", "c"), ("a\x1fb", "c", "d"),
    ("\u2028", "b", "c"), ("a" * 70000, "b", "c"), (" 1", "1", "2 "),
]  # fmt: skip
NOT_IN_FILES = [("NA", "b", "c"), ("NA", "NA_", ""), ("T", "F"), ("TRUE", "T")]
NAMES = [
    "a b", 'a"b', "a,b", "a\nb", "#a", "é", "1a", "if", "TRUE", "NA", ".x", "_x", "a:b", "a+b", "a(b", '"q"', "a=b",
    "\ufeffbom", "s", "@at", "-x",
]  # fmt: skip


def batches(kinds, size=6):
    """Combines several factors in one model, because each program takes time to start."""
    for begin in range(0, len(kinds), size):
        some = kinds[begin : begin + size]
        yield {f"g{i}": Levels(CODES[i] % len(levels), sorted(levels, key=str.encode)) for i, levels in enumerate(some)}


def of_levels():
    for in_files, kinds in ((True, LEVELS), (False, NOT_IN_FILES)):
        for i, factors in enumerate(batches(kinds)):
            formula = "y ~ x + " + " + ".join(factors)
            yield Case(f"levels {i} {in_files}", formula, {**BASE, **factors}, in_files=in_files)
    reversed_ = Levels(CODES[0], ["NA", "low, or so", '"10"'], is_given=True)
    yield Case("levels in an order of their own", "y ~ g + x", {**BASE, "g": reversed_}, in_files=False)
    ordered = Levels(CODES[0], ["mid", "low", "10"], True, True)
    yield Case("an ordered factor", "y ~ g + x", {**BASE, "g": ordered}, in_files=False)
    unused = Levels(CODES[0] % 2, ["mid", "low", "10"], True)
    for keep in (False, True):
        kept = {"drop_unused_levels": not keep}
        yield Case(f"unused, kept {keep}", "y ~ s(g, bs='re') + x", {**BASE, "g": unused}, kept, in_files=False)
    many = Levels(np.arange(ROWS, dtype=np.int32) // 2, [f"level {i:03} " + "x" * 9000 for i in range(ROWS // 2)])
    yield Case("more levels than an argument holds", "y ~ s(g, bs='re') + x", {**BASE, "g": many})
    names = {"k": Levels(CODES[0], ["a", "b", "c"]), "bs": Levels(CODES[1], ["a", "b", "c"]), "cr": TRUTHS}
    yield Case("factors named as arguments", "y ~ s(x, k=4, bs='cr') + z", {**BASE, **names})
    factors = {"g": Levels(CODES[0], ["a", "b", "c"]), "h": Levels(CODES[1], ["a", "b", "c"])}
    yield Case("all columns", "y ~ .", {**BASE, **factors})
    yield Case("all columns but one", "y ~ . - h # + h\n - z", {**BASE, **factors})


def of_names():
    columns = {name: np.random.default_rng(i).random(ROWS) for i, name in enumerate(NAMES)}
    formula = "y ~ " + " + ".join(f"`{name}`" for name in NAMES)
    yield Case("names", formula, {"y": BASE["y"], **columns})
    factors = {name: Levels(CODES[i % 8], ["a", "b", "c"]) for i, name in enumerate(NAMES[:8])}
    formula = "y ~ " + " + ".join(f"`{name}`" for name in factors)
    yield Case("names of factors", formula, {"y": BASE["y"], **factors})
    yield Case("first of all a byte order mark", "y ~ x", {"\ufeffjunk": BASE["z"], **BASE})


def of_missing_values():
    holes = {name: np.where(CODES[i] == 1, np.nan, BASE[name]) for i, name in enumerate(BASE)}
    levels = Levels(np.where(CODES[4] == 0, -1, CODES[4]), ["a", "b", "c"])
    yield Case("missing", "y ~ g + s(x, k=4) + z", {**holes, "g": levels})
    yield Case("missing where nothing reads it", "y ~ x", {**BASE, "z": holes["z"], "g": levels})
    empty = Levels(np.where(CODES[4] == 2, -1, CODES[4]), ["", "NA", "b"])
    yield Case("missing beside levels that look so", "y ~ g + x", {**BASE, "g": empty}, in_files=False)
    yield Case("a column of nothing", "y ~ x + z", {**BASE, "z": np.full(ROWS, np.nan)}, is_refused=True)
    no_level = Levels(np.full(ROWS, -1, np.int32), ["a"])
    yield Case("a factor of nothing", "y ~ x + g", {**BASE, "g": no_level}, is_refused=True, in_files=False)


def of_types():
    integers = np.arange(ROWS) % 7
    yield Case("integers", "y ~ i + s(j, k=4)", {"y": BASE["y"], "i": integers.astype(np.int8), "j": 2**53 + integers})
    yield Case("float32", "y ~ s(x, k=4)", {"y": BASE["y"], "x": BASE["x"].astype(np.float32)})
    yield Case("factor() of numbers", "y ~ factor(i) + x", {**BASE, "i": integers})
    edges = {**BASE, "x": np.where(TRUTHS, -0.0, 5e-324), "z": np.where(TRUTHS, 1e300, BASE["z"])}
    yield Case("the ends of doubles", "y ~ I(x > 0) + I(z > 1) + sqrt(z)", edges)
    yield Case("truths", "y ~ b + x", {**BASE, "b": TRUTHS})
    yield Case("a truth by", "y ~ s(x, by=b, k=4) + b", {**BASE, "b": TRUTHS})
    yield Case("truths of one kind", "y ~ x + z", {**BASE, "b": np.ones(ROWS, bool)})
    yield Case("a response of truths", "b ~ x", {**BASE, "b": CODES[3] > 0}, {"family": "binomial"})
    answer = Levels(CODES[3] % 2, ["no", "yes"])
    yield Case("a response of levels", "g ~ x", {**BASE, "g": answer}, {"family": "binomial"})
    yield Case("an infinity", "y ~ x", {**BASE, "x": np.where(TRUTHS, np.inf, 1)}, is_refused=True)
    yield Case("an infinity where nothing reads it", "y ~ x", {**BASE, "z": np.where(TRUTHS, -np.inf, 1)})


def of_orders():
    for name, order in (("sorted", np.argsort(BASE["x"])), ("turned round", np.arange(ROWS)[::-1])):
        columns = {column: values[order] for column, values in BASE.items()}
        levels = Levels(CODES[0][order], ["a", "b", "c"])
        yield Case(name, "y ~ g + s(x, k=5)", {**columns, "g": levels}, {"block_rows": 16})
        # Other strides and negative ones.
        wide = np.empty((ROWS, 2))
        wide[:, 0] = columns["x"]
        yield Case(f"{name}, strided", "y ~ x", {**columns, "x": wide[:, 0], "z": BASE["z"][::-1]})


def of_options():
    smooth = "y ~ s(x, k=5, bs='cc')"
    for name, options in {
        "knots": {"knots": {"x": [0, 1]}}, "select": {"select": True}, "no select": {"select": False},
        "gamma": {"gamma": 1.4}, "sp": {"sp": [-1]}, "min_sp": {"min_sp": [0.5]}, "no residuals": {"residuals": False},
        "link": {"family": "gaussian", "link": "identity"}, "tolerance": {"tolerance": 1e-6, "step_tolerance": 1e-3},
        "method": {"method": "fREML"}, "rho": {"rho": 0.3}, "rho auto": {"rho": "auto"}, "threads": {"threads": 2},
        "nthreads": {"nthreads": 1}, "iterations": {"max_iterations": 1, "family": "scat"},
        "strings": {"na_strings": ["0.5"], "numeric": ["x"]},
    }.items():  # fmt: skip
        yield Case(name, smooth, BASE, options, in_files=name != "strings")
    arrays = {"weights": 1 + BASE["z"], "offset": BASE["z"], "subset": TRUTHS, "AR_start": CODES[5] == 0}
    yield Case("arrays", smooth, BASE, {"rho": 0.2}, arrays, in_files=False)
    texts = {"weights": "1 + z", "offset": "z", "subset": "z < 0.9 & g %in% c('a', 'b,c')"}
    levels = {**BASE, "g": Levels(CODES[0], ["a", "b,c", "d"])}
    yield Case("expressions", smooth, levels, {}, texts)
    factor = {**BASE, "g": Levels(CODES[0], ["01", "1", "b"])}
    yield Case("levels of the caller", "y ~ g + x", factor, {"levels": {"g": ["b", "1"]}})
    yield Case("ordered of the caller", "y ~ g + x", factor, {"ordered": {"g": ["b", "1", "01"]}})


def of_refusals():
    factor = {**BASE, "g": Levels(CODES[0], ["a", "b", "c"])}
    for formula, options in {
        "y ~ q": {}, "q ~ z": {}, "y ~ s(g, k=4)": {}, "y ~ s(x": {}, "y": {}, "g ~ x": {}, "": {},
        "y ~ x": {"family": "gamma"}, "y ~ z": {"family": "none"}, "y ~ x + z": {"levels": {"g": ["a", "b"]}},
        "y ~ g": {"levels": {"g": ["a", "a"]}}, "y ~ g + z": {"levels": {"g": ["q", "r"]}},
        "y ~ g + x": {"ordered": {"x": ["q", "r"]}}, "y ~ s(x)": {"sp": [1, 2]}, "y ~ s(z)": {"method": "GCV"},
        "z ~ x": {"link": "logit"}, "log(z) ~ x": {"threads": -1},
    }.items():  # fmt: skip
        yield Case(f"refused: {formula} {options}", formula, factor, options, is_refused=True)
    for name, value in {"weights": "g", "offset": "g", "subset": "x > 2"}.items():
        yield Case(f"refused: {name}", "y ~ x", factor, {}, {name: value}, is_refused=True)
    one = Levels(np.zeros(ROWS, np.int32), ["a"])
    yield Case("one level", "y ~ g", {**BASE, "g": one}, is_refused=True)


KINDS = (of_levels, of_names, of_missing_values, of_types, of_orders, of_options, of_refusals)


# The ways into the library


def outcome(fit):
    """The model as text with its bits, or the message of its refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return fit().to_json()
        except ValueError as refused:  # from the caller or the data
            return f"refused: {refused}"


def fit(case, data, arguments=None, **how):
    options = {"device": "cpu", **case.options}
    return GAM(case.formula, **options).fit(data, **(case.arguments if arguments is None else arguments), **how)


def as_dict(case):
    return {name: one.texts() if isinstance(one, Levels) else one for name, one in case.columns.items()}


def as_pandas(case):
    import pandas as pd

    def series(one):
        if not isinstance(one, Levels):
            return one
        if one.is_given:
            return pd.Categorical.from_codes(one.codes, one.levels, ordered=one.is_ordered)
        return one.texts()

    return pd.DataFrame({name: series(one) for name, one in case.columns.items()})


def as_polars(case):
    import polars as pl

    def series(one):
        if not isinstance(one, Levels):
            return pl.Series(one, nan_to_null=one.dtype.kind == "f")
        return pl.Series(one.texts().tolist(), dtype=pl.Enum(one.levels) if one.is_given else pl.String)

    return pl.DataFrame([series(one).alias(name) for name, one in case.columns.items()])


def as_arrow(case):
    import pyarrow as pa

    def array(one):
        if not isinstance(one, Levels):
            return pa.array(np.ascontiguousarray(one), from_pandas=True)
        return pa.chunked_array([pa.array(part, pa.string()) for part in np.split(one.texts(), [17])])

    return pa.table({name: array(one) for name, one in case.columns.items()})


def as_structured(case):
    arrays = as_dict(case)
    table = np.empty(ROWS, [(name, one.dtype) for name, one in arrays.items()])
    for name, one in arrays.items():
        table[name] = one
    return table


def as_masked(case):
    def masked(one):
        if isinstance(one, Levels):
            return np.ma.masked_array(one.texts("masked").astype(str), one.codes < 0)
        return np.ma.masked_invalid(one) if np.isnan(one).any() else np.ma.masked_array(one)

    return {name: masked(one) for name, one in case.columns.items()}


def by_c_and_arrow(case):
    """By a stream of Arrow's C interface, which the library reads."""
    table = _native.Handle("table")
    stream = (ctypes.c_void_p * 5)()
    as_arrow(case).to_reader(max_chunksize=23)._export_to_c(ctypes.addressof(stream))
    options = {"family": "gaussian", "device": "cpu", **case.options, **case.arguments}
    kept = {name: value for name, value in options.items() if name not in ("na_strings", "numeric", "block_rows")}
    call = _native.request(_native.option_texts({"block_rows": options.get("block_rows")}))
    if _native._library.tessera_gam_table_of_arrow(stream, ctypes.byref(call), ctypes.byref(table.number)) != 0:
        raise ValueError("the table is refused")
    model = _native.Handle("model")
    call = _native.request(_native.option_texts(kept))
    _native.call("fit", case.formula.encode(), table.number, ctypes.byref(call), model.to)
    return GAM._of(model)


def fields_of(one):
    if isinstance(one, Levels):
        return one.texts("NA")
    if one.dtype.kind == "b":
        return np.where(one, "TRUE", "FALSE")
    return ["NA" if value != value else value for value in one.tolist()]


def write_csv(path, case):
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(case.columns)
        writer.writerows(zip(*map(fields_of, case.columns.values()), strict=True))
    return path


def write_hdf5(path, case):
    import h5py

    with h5py.File(path, "w", track_order=True) as file:
        for name, one in case.columns.items():
            is_text = isinstance(one, Levels) or one.dtype.kind == "b"
            file.create_dataset(name, data=fields_of(one).astype(object) if is_text else one)
    return path


FRAMES = {
    "dict": ((), as_dict), "pandas": (("pandas",), as_pandas), "polars": (("polars",), as_polars),
    "Arrow": (("pyarrow",), as_arrow), "structured array": ((), as_structured), "masked arrays": ((), as_masked),
}  # fmt: skip


def takes(way, case):
    """Whether this way keeps the caller's order of levels."""
    return way == "pandas" or not (case.has(is_given=True) and (way != "polars" or case.has(is_ordered=True)))


def reference(case):
    return outcome(lambda: fit(case, (as_pandas if case.has(is_given=True) else as_dict)(case)))


class Ways(InFolder):
    def setUp(self):
        super().setUp()
        if "TESSERA_FIT" in os.environ:  # the program's version is checked once
            path = _launch.program_path(None)
            self.enterContext(mock.patch.object(_launch, "program_path", lambda _: path))

    def check(self, case, expected, way, model):
        found = outcome(model)
        if expected.startswith("refused") and found.startswith("refused"):
            return
        with self.subTest(case=case.name, way=way):
            if found != expected:
                lines = difflib.unified_diff(expected.splitlines(), found.splitlines(), "expected", "found", n=0, lineterm="")
                self.fail("\n".join(line[:200] for line in lines))

    def cases(self):
        """The results of all cases in this process."""
        for kind in KINDS:
            for case in kind():
                expected = reference(case)
                with self.subTest(case=case.name):
                    self.assertEqual(expected.startswith("refused"), case.is_refused, expected[:300])
                yield case, expected

    @needs("pandas", "polars", "pyarrow")
    def test_in_process(self):
        for case, expected in self.cases():
            for way, (_, frame) in FRAMES.items():
                if takes(way, case):
                    self.check(case, expected, way, functools.partial(lambda c, f: fit(c, f(c)), case, frame))
            if takes("Arrow", case) and not {**_arrays(case)}:
                self.check(case, expected, "C by Arrow", functools.partial(by_c_and_arrow, case))

    @needs("pandas")
    def test_by_launcher(self):
        self.tessera_fit()
        for case, expected in self.cases():
            frame = as_pandas(case) if case.has(is_given=True) else as_dict(case)
            self.check(case, expected, "launcher", lambda: fit(case, frame, launcher="env", workdir=self.folder))
            self.assertEqual([*self.folder.iterdir()], [])

    @needs("h5py")
    def test_from_files(self):
        for case, expected in self.cases():
            if not case.in_files:
                continue
            table = write_csv(self.folder / "table.csv", case)
            self.check(case, expected, "CSV", lambda: fit(case, table))
            if not any("/" in name for name in case.columns):
                hdf5 = write_hdf5(self.folder / "table.h5", case)
                self.check(case, expected, "HDF5", lambda: fit(case, hdf5))

    @needs("h5py")
    def test_from_files_by_the_shell(self):
        self.tessera_fit()
        for case in (*of_missing_values(), *of_names()):
            if case.in_files:
                expected = reference(case)
                for write in (write_csv, write_hdf5):
                    path = write(self.folder / f"table.{write.__name__[6:]}", case)
                    self.check(case, expected, path.name, lambda: fit(case, path, launcher="env"))


def _arrays(case):
    return {name: one for name, one in case.arguments.items() if not isinstance(one, str)}


class Ranks(InFolder):
    """Runs in each of three processes: fits by one, two and three of them in turn."""

    @needs("pandas")
    def test_ranks(self):
        from mpi4py import MPI

        world = MPI.COMM_WORLD
        folder = world.bcast(self.folder)
        comms = [world.Split(int(world.rank < ranks), world.rank) for ranks in range(1, RANKS + 1)]
        comms = [comm if world.rank <= number else None for number, comm in enumerate(comms)]
        cases = [case for kind in KINDS if kind != of_options for case in kind()]
        for number, case in enumerate(cases):
            expected = world.bcast(reference(case) if world.rank == 0 else None)
            self.check(case, expected, comms[number % RANKS], fit_part)
            if not case.in_files:
                continue
            table = folder / f"{number}.csv"
            if world.rank == 0:
                write_csv(table, case)
            world.barrier()
            self.check(case, expected, comms[(number + 1) % RANKS], lambda c, comm, t=table: fit(c, t, comm=comm))
        world.barrier()  # rank 0 keeps the folder until then

    def check(self, case, expected, comm, fit_by):
        if comm is None:  # this process takes no part
            return
        found = outcome(lambda: fit_by(case, comm))
        if not (expected.startswith("refused") and found.startswith("refused")):
            with self.subTest(case=case.name, ranks=comm.size):
                self.assertTrue(found == expected, f"{found[:300]}\nis not\n{expected[:300]}")


def fit_part(case, comm):
    """This process' part of the rows."""
    ends = [0, *[ROWS // 4, ROWS // 2][: comm.size - 1], ROWS]
    mine = slice(ends[comm.rank], ends[comm.rank + 1])
    frame = as_pandas(case)[mine] if case.has(is_given=True) else {n: v[mine] for n, v in as_dict(case).items()}
    arguments = {n: v if isinstance(v, str) else v[mine] for n, v in case.arguments.items()}
    return fit(case, frame, arguments, comm=comm)


class Launcher(unittest.TestCase):
    @needs("mpi4py", "pandas")
    def test_ranks(self):
        mpirun = shutil.which("mpirun")
        if mpirun is None or not _native.mpi_version():
            self.skipTest("there is no mpirun, or no MPI in the library")
        command = [mpirun, "--oversubscribe", "-np", str(RANKS), sys.executable, __file__]
        settings = {"TESSERA_TEST_RANKS": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-4000:])
        self.assertEqual(done.stderr.count("\nOK"), RANKS, done.stderr)


def load_tests(loader, _tests, _pattern):
    classes = (Ranks,) if UNDER_LAUNCHER else (Ways, Launcher)
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, classes))


if __name__ == "__main__":
    main()
