# SPDX-License-Identifier: Apache-2.0
"""Fits by tessera-fit under an MPI launcher, on the nodes of a batch job."""

from __future__ import annotations

import contextlib
import csv
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from . import _native
from ._columns import Column, Columns, Factor, File
from ._errors import TesseraError, UsageError, error_of

_LONGEST_END = 30  # seconds for a job to end after a request
# Options for reading files; they do not apply to frames, which have types.
_OF_FILES = {"factor", "na_strings", "numeric", "date", "sep", "dec", "comment", "header", "skip"}
_SWITCHES = {"allow-sharing", "select"}


def program_path(given: str | os.PathLike[str] | None) -> str:
    """The path of tessera-fit: `program`, $TESSERA_FIT, or from PATH. Its version must be the package's."""
    path = os.fspath(given) if given else os.environ.get("TESSERA_FIT") or shutil.which("tessera-fit")
    if not path:
        raise UsageError("launcher= needs tessera-fit: install it, and name it by program=, TESSERA_FIT or PATH")
    try:
        told = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=60, check=True
        ).stdout
    except (OSError, ValueError, subprocess.SubprocessError) as failed:
        raise UsageError(f"{path}: cannot be run: {failed}: name tessera-fit by program= or TESSERA_FIT") from None
    version = told.split()[-1] if told.split() else "unknown"
    if version != _native.library_version():
        own = _native.library_version()
        raise UsageError(f"{path} is version {version}, but this package is {own}: install the same version of both")
    return path


def fit(
    launcher: str, program: str, formula: str, data: File | Columns, options: Mapping[str, Any], folder: pathlib.Path
) -> pathlib.Path:
    """Runs the fit; returns the path of its model in `folder`, which all nodes can read."""
    model = folder / "model.json"
    try:
        command = [*shlex.split(launcher), program, "fit", f"--formula={formula}", f"--out={model}"]
    except ValueError as failed:
        raise UsageError(f"launcher {launcher!r}: {failed}") from None
    if isinstance(data, File):
        tables, told = data.paths, options
    else:
        tables = (str(folder / "table.csv"),)
        told = _with_table(formula, data, options, tables[0])
    while True:
        status, messages = _run([*command, *_arguments(told, folder), "--", *tables])
        if model.exists():
            return model
        unused = _UNUSED.fullmatch(messages[-1] if messages else "")
        if not unused or not _forget(unused[1], told, options):
            raise _error_of(status, messages or [f"{launcher}: tessera-fit has ended with status {status}"])


_UNUSED = re.compile(r"(?:levels of|ordered factor) '(.*)': the formula does not use a column of this name.*")


def _forget(name: str, told: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Drops the levels of a factor that the formula excludes, such as g in `y ~ . - g`, unless they were given."""
    kinds = [kind for kind in ("levels", "ordered") if told is not given and name in told[kind]]
    if any(name in _levels_of(given.get(kind)) for kind in kinds):
        return False
    for kind in kinds:
        del told[kind][name]
    return bool(kinds)


def _error_of(status: int, messages: list[str]) -> TesseraError:
    """The exception for a program's messages; for a formula they have a line for each fault and two that show it."""
    faults = [found for found in map(re.compile(r"formula, (character (\d+): .*)").fullmatch, messages) if found]
    if not faults:
        return error_of(status, messages[-1], -1, "")
    whole = "formula, " + "; ".join(found[1] for found in faults)
    return error_of(status, whole, int(faults[0][2]) - 1, "\n".join(messages))


def _run(arguments: list[str]) -> tuple[int, list[str]]:
    """The exit status of a command, and its messages. An exception raised here ends all processes of the command."""
    try:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, encoding="utf-8", errors="backslashreplace", start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as failed:
        reason = getattr(failed, "strerror", None) or failed
        raise UsageError(f"{arguments[0]}: cannot be run: {reason}: correct launcher= or program=") from None
    messages = []
    with process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                if line.startswith("tessera-fit: "):
                    messages.append(line.removeprefix("tessera-fit: ").rstrip())
                _native.log(line.rstrip())
            process.wait()
        except BaseException:
            _signal_all(process, signal.SIGTERM)
            try:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.communicate(timeout=_LONGEST_END)  # until no process holds standard error open
            finally:
                _signal_all(process, signal.SIGKILL)
            raise
    return process.returncode, messages


def _signal_all(process: subprocess.Popen[str], number: int) -> None:
    """Sends a signal to the processes of the command's session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _arguments(options: Mapping[str, Any], folder: pathlib.Path) -> list[str]:
    """Options as a command line; levels are in files, because a command line has no space for many."""
    arguments: list[str] = []
    for name, value in options.items():
        flag = name.replace("_", "-").lower()
        if flag in ("levels", "ordered") and isinstance(value, Mapping):
            for column, levels in _levels_of(value).items():
                path = folder / f"{flag}{len(arguments)}"
                path.write_text(_native.level_text(column, levels), encoding="utf-8", newline="")
                arguments.append(f"--{flag}=@{path}")
            continue
        for _, text in _native.option_texts({name: value}):
            if flag in ("residuals", *_SWITCHES):
                is_true = text.lower() in ("true", "1")
                arguments += ["--no-residuals"] * (flag == "residuals" and not is_true)
                arguments += [f"--{flag}"] * (flag != "residuals" and is_true)
            elif flag == "method" and text.lower() == "freml":
                continue
            else:
                arguments += [f"--{flag}={text}"] if text else [f"--{flag}", ""]
    return arguments


def _levels_of(option: Any) -> dict[str, list[str]]:
    """Levels of columns as given by `levels` and `ordered`; none for a column in its default order."""
    if isinstance(option, Mapping):
        return {str(name): [*map(_native._plain, of)] for name, of in option.items()}
    texts = [option] if isinstance(option, str) else option or []
    parts = [str(text).partition("=") for text in texts]
    return {name: levels.split(",") if equals else [] for name, equals, levels in parts}


# A comment, a string, an operator such as %in%, a number, or a name.
_TOKEN = re.compile(
    r"""#.*|(?s:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|%\w*%|`((?:[^`\\]|\\.)*)`)"""
    r"""|\.?\d[\w.]*|((?:[^\W\d]|\.(?!\d))[\w.]*)"""
)
_CALL_OR_ARGUMENT = re.compile(r"\s*(?:\(|=(?!=)|::)")


def _variables_in(text: str) -> set[str]:
    """The names in a formula that may be columns: not names of functions or arguments."""
    return {
        re.sub(r"(?s)\\(.)", r"\1", found[1]) if found[1] else found[2]
        for found in _TOKEN.finditer(text)
        if found[1] or (found[2] and not _CALL_OR_ARGUMENT.match(text, found.end()))
    }


def _with_table(formula: str, columns: Columns, options: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Writes the columns that the fit reads; returns its options, which contain the levels of each factor.

    With the levels, no text is taken for a number, another level or a missing value.
    """
    expressions = [options[name] for name in ("weights", "offset", "subset", "AR_start") if name in options]
    names = set().union(*map(_variables_in, [formula, *expressions]))
    compared = set().union(*map(_variables_in, [formula.partition("~")[2], *expressions]))
    used = {name: column for name, column in columns.items() if "." in names or name in names} or columns
    levels, ordered = _levels_of(options.get("levels")), _levels_of(options.get("ordered"))
    for name, column in used.items():
        if name != name.strip(" \t\r"):
            raise UsageError(f"the column {name!r} has blanks around its name, which no file can keep: rename it")
        if not isinstance(column, Factor):
            continue
        if column.is_ordered and name not in ordered and not compared.isdisjoint((name, ".")):
            ordered[name] = levels.pop(name, [])
        given = ordered if name in ordered else levels
        keeps_order = column.keeps_order or column.is_ordered
        given[name] = given.get(name) or (column.levels if keeps_order else _sorted(column))
    told = levels | ordered
    missing = "NA"
    while any(missing in of for of in told.values()):
        missing += "_"
    _write({name: _fields(column, told.get(name, []), missing) for name, column in used.items()}, path)
    kept = {name: value for name, value in options.items() if name not in _OF_FILES}
    return {**kept, "na_strings": missing, "levels": levels, "ordered": ordered}


def _fields(column: Column, told: list[str], missing: str) -> list[Any]:
    """Texts of a factor for CSV. Missing values, and levels not in `told`, are empty, or `missing` if "" is a level."""
    if not isinstance(column, Factor):
        return ["" if value != value else value for value in column.tolist()]
    known = {*told}
    none = missing if "" in known else ""
    texts = [level if level in known else none for level in column.levels]
    return [[*texts, none][code] for code in column.codes]


def _write(fields: Mapping[str, list[Any]], path: str) -> None:
    """Numbers with enough digits to read back the same bits. The first name may begin with a byte order mark."""
    with open(path, "w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(fields)
        writer.writerows(zip(*fields.values(), strict=True))


_NUMBER = re.compile(
    r"[ \t\r]*([+-]?)(?:(inf(?:inity)?|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
    r"|(0x(?:[\da-f]+\.?[\da-f]*|\.[\da-f]+)(?:p[+-]?\d+)?))[ \t\r]*",
    re.ASCII | re.IGNORECASE,
)


def _number(level: str) -> float | None:
    """The number for which the library takes a level's text."""
    found = _NUMBER.fullmatch(level)
    if not found:
        return None
    sign, decimal, hexadecimal = found.groups()
    try:
        value = float(decimal) if decimal else float.fromhex(hexadecimal)
    except OverflowError:
        value = float("inf")
    return -value if sign == "-" else value


def _sorted(column: Factor) -> list[str]:
    """The levels that occur, in the library's order: by value if all are numbers, otherwise by bytes."""
    levels = [column.levels[code] for code in sorted({*column.codes.tolist()} - {-1})]
    numbers = {level: _number(level) for level in levels}
    if all(number is not None for number in numbers.values()):
        return sorted(levels, key=lambda level: (numbers[level], level.encode()))
    return sorted(levels, key=str.encode)


@contextlib.contextmanager
def folder_in(workdir: str | os.PathLike[str] | None) -> Iterator[pathlib.Path]:
    """A folder for the files of a fit, which is removed with its files."""
    with tempfile.TemporaryDirectory(prefix="tessera-gam-", dir=workdir) as name:
        yield pathlib.Path(name)
