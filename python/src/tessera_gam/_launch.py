# SPDX-License-Identifier: Apache-2.0
"""Fits by tessera-fit under a launcher, on the nodes of a batch job."""

from __future__ import annotations

import contextlib
import csv
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from . import _native
from ._columns import Columns, Factor, File
from ._errors import UsageError, error_of

_LONGEST_END = 30  # seconds that a job has to end in after it was asked to
_LONGEST_ARGUMENT = 100_000  # bytes; Linux has 128 KiB


def program_path(given: str | os.PathLike[str] | None) -> str:
    """tessera-fit as given, as $TESSERA_FIT, or of PATH, in the version of this package."""
    path = os.fspath(given) if given else os.environ.get("TESSERA_FIT") or shutil.which("tessera-fit")
    if not path:
        raise UsageError("launcher= needs tessera-fit: install it, and name it by program=, TESSERA_FIT or PATH")
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError) as failed:
        raise UsageError(f"{path}: cannot be run: {failed}") from None
    version = told.split()[-1] if told.split() else "unknown"
    if version != _native.library_version():
        raise UsageError(
            f"{path} is version {version}, and this package {_native.library_version()}: install equal ones"
        )
    return path


def fit(
    launcher: str, program: str, formula: str, data: File | Columns, options: Mapping[str, Any], folder: pathlib.Path
) -> pathlib.Path:
    """Runs the fit; returns the path of its model, in `folder`, which all nodes see."""
    model = folder / "model.json"
    arguments = [*shlex.split(launcher), program, "fit", "--formula", formula, "--out", str(model)]
    if isinstance(data, File):
        arguments.append(data.path)
    else:
        arguments += [str(_write(data, folder / "table.csv")), *_factors(data, options)]
    arguments += _arguments(options)
    process = subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    last = ""
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("tessera-fit: "):
                last = line.removeprefix("tessera-fit: ").strip()
            _native.log(line.rstrip())
        status = process.wait()
    except BaseException:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_LONGEST_END)
        except subprocess.TimeoutExpired:
            process.kill()
        raise
    finally:
        if process.stderr is not None:
            process.stderr.close()
    if not model.exists():
        raise error_of(status, last or f"{shlex.join(arguments[:4])} has ended with status {status}", -1, "")
    return model


def _arguments(options: Mapping[str, Any]) -> list[str]:
    """Options of the command line: a truth value is a flag, but for one that has a value there."""
    arguments = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-").lower()
        if name == "residuals":
            arguments += [] if value else ["--no-residuals"]
        elif isinstance(value, bool) and name != "drop_unused_levels":
            arguments += [flag] if value else []
        else:
            arguments += [part for _, text in _native.option_texts({name: value}) for part in (flag, text)]
    return arguments


def _write(columns: Columns, path: pathlib.Path) -> pathlib.Path:
    """Numbers in as many digits as read back to the same bits."""
    lists = [
        [[*column.levels, "NA"][code] for code in column.codes]
        if isinstance(column, Factor)
        else ["NA" if value != value else value for value in column.tolist()]
        for column in columns.values()
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*lists, strict=True))
    return path


def _factors(columns: Columns, options: Mapping[str, Any]) -> list[str]:
    """Factors whose levels may look like numbers, or that have an order; truth values are known as such."""
    arguments = []
    told = {*(options.get("ordered") or {}), *(options.get("levels") or {})}
    for name, column in columns.items():
        if not isinstance(column, Factor) or name in told or {*column.levels} <= {"FALSE", "TRUE"}:
            continue
        levels = _sorted(column.levels)
        kept = column.levels if column.keeps_order else levels
        # The program takes 01 for 1 unless it is told which levels there are.
        if kept == levels and not any(_number(level) not in (None, level) for level in levels):
            arguments += ["--factor", name]
            continue
        text = f"{name}={','.join(kept)}"
        if any("," in level for level in kept) or len(text.encode()) > _LONGEST_ARGUMENT:
            raise UsageError(
                f"launcher=: the categorical '{name}' has levels in an order of its own that no argument can hold, "
                "as there are commas or many levels: sort its categories, or rename them"
            )
        arguments += ["--levels", text]
    return arguments


def _number(level: str) -> str | None:
    """As the program writes a level that is a number."""
    try:
        return repr(float(level)).removesuffix(".0") if "_" not in level else None
    except ValueError:
        return None


def _sorted(levels: list[str]) -> list[str]:
    """As the program sorts the levels of a file: by value if all are numbers, otherwise by their bytes."""
    if all(_number(level) for level in levels):
        return sorted(levels, key=lambda level: (float(level), level))
    return sorted(levels, key=str.encode)


@contextlib.contextmanager
def folder_in(workdir: str | os.PathLike[str] | None) -> Iterator[pathlib.Path]:
    """A folder for the files of a fit, which is removed with them."""
    with tempfile.TemporaryDirectory(prefix="tessera-gam-", dir=workdir) as name:
        yield pathlib.Path(name)
