# SPDX-License-Identifier: Apache-2.0
"""Exceptions and warnings. Each message has one line: what happened, where, and what to do."""

from __future__ import annotations


class TesseraError(Exception):
    """A failure of the library. `status` is the exit status of tessera-fit for the same failure."""

    status = 6


class UsageError(TesseraError, ValueError):
    """An argument, an option or an environment variable is wrong."""

    status = 2


class FormulaError(UsageError):
    """A formula is refused. `position` is the byte index (UTF-8) of the formula's first fault."""

    position: int


class InputError(TesseraError, ValueError):
    """Data or a file cannot be used."""

    status = 3


class NotConvergedError(TesseraError, ArithmeticError):
    """The first step of a fit cannot be computed."""

    status = 4


class DeviceAbsentError(TesseraError):
    """A GPU is required, but there is none."""

    status = 5


class FaultError(TesseraError, RuntimeError):
    """A failure of the system, e.g. too little memory, or of a GPU."""

    status = 6


class TesseraWarning(UserWarning):
    """A result needs care, e.g. because the fit has not converged."""


_LONGEST = 2000


def _shortened(text: str) -> str:
    """A shortened message; it may contain names of any length."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 500]} … {text[-500:]}"


def error_of(status: int, message: str, position: int, lines: str) -> TesseraError:
    """The exception for an exit status; for a formula it has a note for each fault."""
    if position >= 0:
        refused = FormulaError(_shortened(message))
        refused.position = position
        refused.add_note(_shortened(lines.rstrip("\n")))
        return refused
    for kind in (UsageError, InputError, NotConvergedError, DeviceAbsentError):
        if kind.status == status:
            return kind(_shortened(message))
    return FaultError(_shortened(message))
