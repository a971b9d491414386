# SPDX-License-Identifier: Apache-2.0
"""Exceptions and warnings. Each has one line: what, where and what to do."""

from __future__ import annotations


class TesseraError(Exception):
    """A failure of the library. `status` is the exit status that tessera-fit has for it."""

    status = 6


class UsageError(TesseraError, ValueError):
    """An argument, an option or an environment variable is wrong."""

    status = 2


class FormulaError(UsageError):
    """A formula is refused. `position` is the index of the byte, in UTF-8, of its first fault."""

    position: int


class InputError(TesseraError, ValueError):
    """Data or a file cannot be used."""

    status = 3


class NotConvergedError(TesseraError, ArithmeticError):
    """The first step of a fit cannot be computed."""

    status = 4


class DeviceAbsentError(TesseraError):
    """A GPU is required, and there is none."""

    status = 5


class FaultError(TesseraError, RuntimeError):
    """A failure of the system, such as a lack of memory, or of a GPU."""

    status = 6


class TesseraWarning(UserWarning):
    """A result to be used with care, such as that of a fit that has not converged."""


_LONGEST = 2000


def _shortened(text: str) -> str:
    """A message, shortened: names in it may be of any length."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 500]} … {text[-500:]}"


def error_of(status: int, message: str, position: int, lines: str) -> TesseraError:
    """The exception for a status; that of a formula shows each fault in a note."""
    if position >= 0:
        refused = FormulaError(_shortened(message))
        refused.position = position
        refused.add_note(_shortened(lines.rstrip("\n")))
        return refused
    for kind in (UsageError, InputError, NotConvergedError, DeviceAbsentError):
        if kind.status == status:
            return kind(_shortened(message))
    return FaultError(_shortened(message))
