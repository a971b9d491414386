# SPDX-License-Identifier: Apache-2.0
"""Writes the engine's options into the package's sources: as arguments and as paragraphs in docstrings.

    python3 python/make_options.py [--check] TABLE

TABLE is a libtessera_gam, from which the table of options is read, or a JSON file with that table. The lines between "#
Options: fit -family job.threads" and "# End of options" are generated for all options of the set fit except family, and
for the option threads of the set job. In a signature the lines are arguments, and the docstring's section Parameters
gets a paragraph for each, except with "# Options, told elsewhere: ...". Outside signatures the lines are quoted names.
With --check nothing is written, and the exit status is 1 if something would change.
"""

from __future__ import annotations

import ast
import ctypes
import difflib
import json
import pathlib
import re
import sys
import textwrap
from typing import Any

SOURCES = ("_describe.py", "_gam.py", "_many.py", "sklearn.py")
WIDTH = 120

Option = dict[str, Any]
Table = dict[str, list[Option]]

_OTHER_NAMES = {"ar-start": "AR_start"}
_TYPES = {
    "flag": "bool",
    "integer": "int",
    "number": "float",
    "size": "int | str",
    "text": "str",
    "numbers": "Sequence[float] | Numbers | float",
    "names": "Sequence[str] | str",
}
# Options whose form in Python is not a text: types, and descriptions where the table's description shows the text form.
_OTHER_TYPES = {
    "checkpoint": "str | os.PathLike[str]",
    "scratch": "str | os.PathLike[str]",
    "knots": "Mapping[str, Sequence[float] | Numbers]",
    "para-pen": "Mapping[str, Any] | str | os.PathLike[str]",
    "contrasts": "Mapping[str, Any] | str | os.PathLike[str]",
    "levels": "Mapping[str, Iterable[Any]]",
    "ordered": "Mapping[str, Iterable[Any]] | Sequence[str] | str",
    "rho": 'float | Literal["auto"]',
    "na-strings": "Sequence[str] | str",
    "factor": "Sequence[str] | str",
    "numeric": "Sequence[str] | str",
    "date": "Sequence[str] | str",
}
_OTHER_TEXTS = {
    "knots": "Limits or knots of variables: {'month': [0.5, 12.5]}",
    "para-pen": "Penalties of parametric terms, as gam's paraPen: matrices by term, {'g': [S1, S2]}, or {'g': {'S': [S1, S2], "
    "'rank': [4, 3], 'sp': [-1, 2]}}; or a JSON file of these",
    "contrasts": "Contrasts to test in place of `test`, by name: a frame of coefficients x contrasts, or weights of "
    "coefficients, {'late': [{'s(t):a.5': 1, 's(t):b.5': -1}]}; or a JSON file of these",
    "levels": "Levels of factors in order, the reference first: {'site': ['cape', 'bay']}; other values are missing",
    "ordered": "Columns that are ordered factors: 'dose', or with levels {'dose': ['low', 'mid', 'high']}",
    "na-strings": "Of files: fields that mean a missing value: ['NA', ''] are NA and the empty field",
    "factor": "Of files: columns to read as factors, even if numeric",
    "numeric": "Of files: columns to read as numbers, even if quoted",
    "date": "Of files: columns of ISO dates, read as days since 1970-01-01, or of times, as seconds since 1970-01-01 UTC",
    "sep": "Of text files: the separator of fields, a character or 'tab' (default: found in the first 100 rows)",
    "dec": "Of text files: the decimal mark, '.' or ',' (default: found in the first 100 rows)",
    "comment": "Of text files: skip lines that begin with this character, such as '#'",
    "header": "Of text files: whether the first row names the columns; otherwise they are V1, V2, ...",
    "skip": "Of text files: number of lines to skip before the table",
    "nthreads": "The same as threads, with bam's name",
    "covariances": "Keep the covariances of the coefficients, for `covariance` and `model` of the result",
}


def table_of(path: str) -> Table:
    if path.endswith(".json"):
        table: Table = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        return table
    library = ctypes.CDLL(path)
    library.tessera_gam_options.restype = ctypes.c_char_p
    table = json.loads(library.tessera_gam_options())
    return table


def chosen(table: Table, words: str) -> list[Option]:
    """The options that a marker line selects."""
    found: dict[str, Option] = {}
    for word in words.split():
        if word.startswith("-"):
            del found[word[1:]]
            continue
        kind, _, only = word.partition(".")
        options = {
            name: {**one, "name": name} for one in table[kind] for name in (one["name"], one.get("alias")) if name
        }
        for name in [only] if only else options:
            found.setdefault(name, options[name])
    return [*found.values()]


def name_of(option: Option) -> str:
    return _OTHER_NAMES.get(option["name"], option["name"].replace("-", "_"))


def type_of(option: Option) -> str:
    if option["name"] in _OTHER_TYPES:
        return _OTHER_TYPES[option["name"]]
    if option["kind"] == "choice":
        return f"Literal[{', '.join(json.dumps(choice) for choice in option['choices'])}]"
    return _TYPES["names" if option["repeatable"] else option["kind"]]


def paragraph_of(option: Option, indent: str) -> list[str]:
    text = _OTHER_TEXTS.get(option["name"], option["help"])
    text = re.sub(r" \(repeatable\)|, comma-separated\b", "", text)
    text = re.sub(r"--([a-z-]+)", lambda flag: flag[1].replace("-", "_"), text)
    if option["kind"] == "numbers":
        text = re.sub(r"\d[\d.]*(,-?\d[\d.]*)+", lambda numbers: f"[{numbers[0].replace(',', ', ')}]", text)
    if option["default"] and "default" not in text:
        default = {"true": "True", "false": "False"}.get(option["default"], option["default"])
        text += f" (default: {default})"
    indent_of_text = indent + "    "
    text = textwrap.fill(f"{text}.", WIDTH, initial_indent=indent_of_text, subsequent_indent=indent_of_text)
    return [indent + name_of(option), *text.split("\n")]


_BEGIN = re.compile(r"( *)# Options(, told elsewhere)?: (.*)")


def made(source: str, table: Table) -> str:
    """The source with the generated lines."""
    lines = source.split("\n")
    edits: list[tuple[int, int, list[str]]] = []  # replace lines [first, last) by the list
    functions = dict(_functions(ast.parse(source)))
    for number, line in enumerate(lines):
        begin = _BEGIN.fullmatch(line)
        if not begin:
            continue
        indent, told_elsewhere, words = begin.groups()
        end = lines.index(f"{indent}# End of options", number)
        options = chosen(table, words)
        docstring = next((doc for (first, last), doc in functions.items() if first <= number < last), None)
        if docstring is None:
            edits.append((number + 1, end, [f'{indent}"{name_of(option)}",' for option in options]))
            continue
        arguments = [f"{indent}{name_of(option)}: {type_of(option)} | None = None," for option in options]
        if not told_elsewhere:
            former = {one.partition(":")[0].strip() for one in lines[number + 1 : end]}
            edits.append(_paragraphs(lines, *docstring, former, options))
        edits.append((number + 1, end, arguments))
    for first, last, others in sorted(edits, reverse=True):
        lines[first:last] = others
    return "\n".join(lines)


def _functions(tree: ast.Module) -> Any:
    """The lines of each function's signature and docstring; `__init__` uses the docstring of its class."""
    for outer in [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
        for function in outer.body:
            if isinstance(function, ast.FunctionDef):
                documented = outer if function.name == "__init__" else function
                text = documented.body[0]
                yield (function.lineno - 1, function.body[0].lineno - 1), (text.lineno - 1, text.end_lineno)


def _paragraphs(
    lines: list[str], first: int, last: int, former: set[str], options: list[Option]
) -> tuple[int, int, list[str]]:
    """The docstring with the paragraphs of options, old ones replaced, at the end of the section Parameters."""
    title = next(number for number in range(first, last) if lines[number].strip() == "Parameters")
    indent = lines[title][: -len("Parameters")]
    begin = title + 2
    end = next(number for number in range(begin, last) if lines[number].strip() in ("", '"""'))
    kept: list[str] = []
    is_kept = True
    for line in lines[begin:end]:
        if not line.startswith(f"{indent} "):
            is_kept = line.strip() not in former | {name_of(option) for option in options}
        kept += [line] * is_kept
    return begin, end, kept + [line for option in options for line in paragraph_of(option, indent)]


def main(arguments: list[str]) -> int:
    *flags, path = arguments
    table, differs = table_of(path), False
    for source in SOURCES:
        file = pathlib.Path(__file__).parent / "src/tessera_gam" / source
        now = file.read_text(encoding="utf-8")
        then = made(now, table)
        differs |= now != then
        if "--check" not in flags:
            file.write_text(then, encoding="utf-8")
        else:
            difference = difflib.unified_diff(
                now.splitlines(), then.splitlines(), f"{source}, now", source, lineterm=""
            )
            print(*difference, sep="\n", end="\n" if now != then else "")
    return int(differs and "--check" in flags)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
