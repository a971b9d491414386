# SPDX-License-Identifier: Apache-2.0
"""Fits in the processes of an mpi4py communicator; each process has a part of the rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from . import _native
from ._columns import Columns, Factor, made_by
from ._errors import FaultError, TesseraError, UsageError

T = TypeVar("T")


def handle_of(comm: Any) -> int:
    """The communicator in the library's form. Refused unless the library uses the same MPI as mpi4py."""
    here = _native.mpi_version()
    if not here:
        raise UsageError(
            "comm: the library of this package is built without MPI: name a library with MPI by TESSERA_GAM_LIBRARY, "
            "or fit by launcher='mpirun -np 8'"
        )
    if not made_by("mpi4py", comm):
        raise UsageError(f"comm is a {type(comm).__name__}: give a communicator of mpi4py")
    from mpi4py import MPI

    there = re.split("[\n,]", MPI.Get_library_version())[0].strip().replace("\t", " ")
    if there != here:
        raise UsageError(f"comm is of {there}, but this package's library is of {here}: install mpi4py for {here}")
    return int(comm.py2f())


def on_all(comm: Any, work: Callable[[], T]) -> T:
    """*Collective.* The result of `work` in this process; a failure in one process is raised in all."""
    result: T | None = None
    fault: Exception | None = None
    told_here = None
    try:
        result = work()
    except Exception as raised:  # noqa: BLE001 - other processes must not wait, whatever the exception
        fault = raised
        told_here = (type(raised) if isinstance(raised, TesseraError) else FaultError, str(raised))
    faults = comm.allgather(told_here)
    for rank, told in enumerate(faults):
        if told is not None:
            kind, text = told
            raise kind(f"rank {rank}: {text}") from fault
    return result  # type: ignore[return-value]  # the result of work()


Levels = dict[str, tuple[list[str], bool]]
"""A process' levels of factors, and whether the factors are ordered."""


def levels_of_all(comm: Any, columns: Columns) -> list[Levels]:
    """*Collective.* The levels in each process."""
    mine = {name: (one.levels, one.keeps_order) for name, one in columns.items() if isinstance(one, Factor)}
    return list(comm.allgather(mine))


def with_levels(columns: Columns, everywhere: list[Levels]) -> Columns:
    """Gives factors the sorted levels of all processes; ordered levels must be equal in all."""
    shared = {name: _shared(name, one, everywhere) for name, one in columns.items() if isinstance(one, Factor)}
    return {**columns, **shared}


def _shared(name: str, column: Factor, everywhere: list[Levels]) -> Factor:
    given = [of_rank[name] for of_rank in everywhere if name in of_rank]  # otherwise the library reports the difference
    if all(levels == column.levels for levels, _ in given):
        return column
    if any(keeps_order for _, keeps_order in given):
        raise UsageError(f"the categories of '{name}' differ from rank to rank: give the same on all ranks")
    levels = sorted({level for levels, _ in given for level in levels})
    places = {level: place for place, level in enumerate(levels)}
    codes = np.array([*(places[level] for level in column.levels), -1], np.int32)[column.codes]
    return Factor(codes, levels)
