# SPDX-License-Identifier: Apache-2.0
"""Calls the C interface tessera_gam.h by ctypes, without an extension module: one wheel serves every Python.

Calls release the GIL. Long calls are `interruptible`: they run on a separate thread while the caller's thread waits for
progress, so that a signal handler of Python, e.g. for Ctrl-C, can raise at once.
"""

from __future__ import annotations

import ctypes
import os
import queue
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, TypeVar

import numpy as np

from ._errors import TesseraWarning, UsageError, error_of

T = TypeVar("T")
Progress = Callable[[str], None]

_PROGRESS = ctypes.CFUNCTYPE(None, c_int32, c_char_p, c_void_p)
_CANCELLED = ctypes.CFUNCTYPE(c_int32, c_void_p)
_OLDEST_C_VERSION = 1
BOTH_FORMS = 2  # a report as text and as JSON
_LONGEST_WAIT = 0.2  # seconds to wait until interrupted work ends


class _Option(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Call(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("options", POINTER(_Option)),
        ("option_count", c_size_t),
        ("progress", _PROGRESS),
        ("cancelled", _CANCELLED),
        ("context", c_void_p),
    ]


class ErrorInfo(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("status", c_int32),
        ("message", c_char_p),
        ("function", c_char_p),
        ("position", c_int64),
        ("lines", c_char_p),
    ]


class AnswerInfo(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("rows", c_size_t),
        ("columns", c_size_t),
        ("kept", c_size_t),
        ("remarks", c_size_t),
        ("constant", c_double),
    ]


class ColumnInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("is_factor", c_int32), ("levels", c_size_t)]


class Responses(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("table", c_uint64),
        ("layout", c_int32),
        ("value_type", c_int32),
        ("index_type", c_int32),
        ("rows", c_int64),
        ("columns", c_int64),
        ("values", c_void_p),
        ("value_count", c_size_t),
        ("row_stride", c_int64),
        ("column_stride", c_int64),
        ("indices", c_void_p),
        ("begins", c_void_p),
        ("names", POINTER(c_char_p)),
        ("name_count", c_size_t),
        ("weights", c_void_p),
        ("offsets", c_void_p),
        ("path", c_char_p),
    ]


_CALL, _TEXT, _SIZE = POINTER(Call), POINTER(c_char_p), POINTER(c_size_t)
_HANDLE = POINTER(c_uint64)
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "last_error": (POINTER(ErrorInfo),),
    "table_open": (c_int64, _CALL, _HANDLE),
    "table_add_numbers": (c_uint64, c_char_p, c_void_p, c_size_t),
    "table_add_factor": (c_uint64, c_char_p, c_void_p, c_size_t, _TEXT, c_size_t, c_int32),
    "table_of_files": (_TEXT, c_size_t, _CALL, _HANDLE),
    "columns": (c_uint64, _TEXT, c_size_t, _CALL, c_int32, _TEXT, _SIZE),
    "table_close": (c_uint64,),
    "fit": (c_char_p, c_uint64, _CALL, _HANDLE),
    "fit_many": (c_char_p, c_uint64, POINTER(Responses), _CALL, _HANDLE, _HANDLE),
    "many_model": (c_uint64, c_char_p, _HANDLE),
    "many_curves": (c_uint64, _CALL, _HANDLE),
    "many_curve_values": (c_uint64, _CALL, _HANDLE),
    "model_close": (c_uint64,),
    "model_to_json": (c_uint64, _TEXT, _SIZE),
    "model_from_json": (c_char_p, c_size_t, _HANDLE),
    "model_save": (c_uint64, c_char_p),
    "model_load": (c_char_p, _HANDLE),
    "model_shape": (c_uint64, c_char_p, _SIZE, _SIZE),
    "model_values": (c_uint64, c_char_p, c_void_p, c_size_t),
    "model_text": (c_uint64, c_char_p, c_size_t, _TEXT),
    "model_text_count": (c_uint64, c_char_p, _SIZE),
    "summary": (c_uint64, c_int32, _TEXT, _SIZE),
    "anova": (_HANDLE, c_size_t, c_char_p, c_int32, _TEXT, _SIZE),
    "check": (c_uint64, c_uint64, _CALL, c_int32, _TEXT, _SIZE),
    "predict": (c_uint64, c_uint64, _CALL, _HANDLE),
    "residuals": (c_uint64, c_uint64, _CALL, _HANDLE),
    "smooths": (c_uint64, _CALL, _HANDLE),
    "derivatives": (c_uint64, _CALL, _HANDLE),
    "level_differences": (c_uint64, _CALL, _HANDLE),
    "table_differences": (c_uint64, c_uint64, c_uint64, _CALL, _HANDLE),
    "simulate_coefficients": (c_uint64, _CALL, _HANDLE),
    "simulate_smooths": (c_uint64, _CALL, _HANDLE),
    "simulate_responses": (c_uint64, c_uint64, _CALL, _HANDLE),
    "answer_extent": (c_uint64, POINTER(AnswerInfo)),
    "answer_column": (c_uint64, c_size_t, POINTER(ColumnInfo)),
    "answer_numbers": (c_uint64, c_size_t, c_void_p, c_size_t),
    "answer_codes": (c_uint64, c_size_t, c_void_p, c_size_t),
    "answer_level": (c_uint64, c_size_t, c_size_t, _TEXT),
    "answer_remark": (c_uint64, c_size_t, _TEXT),
    "answer_close": (c_uint64,),
}


class _Missing:
    """Stands in for a library that cannot be loaded: any access raises ImportError."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __getattr__(self, name: str) -> Any:
        raise ImportError(f"tessera_gam: {self.reason}")


def _load() -> ctypes.CDLL | _Missing:
    """The library in this module's folder, or the one in $TESSERA_GAM_LIBRARY."""
    path = os.environ.get("TESSERA_GAM_LIBRARY") or os.path.join(os.path.dirname(__file__), "libtessera_gam_c.so")
    try:
        library = ctypes.CDLL(path)
    except OSError as failed:
        return _Missing(f"{failed}: install the package by pip, or set TESSERA_GAM_LIBRARY to a libtessera_gam")
    earlier = _Missing(f"{path} is of an earlier version: remove it, and install the package anew")
    if library.tessera_gam_c_version() < _OLDEST_C_VERSION:
        return earlier
    try:
        for name, arguments in _SIGNATURES.items():
            getattr(library, f"tessera_gam_{name}").argtypes = arguments
    except AttributeError:
        return earlier
    library.tessera_gam_library_version.restype = c_char_p
    library.tessera_gam_mpi_version.restype = c_char_p
    return library


_library = _load()


def encoded(text: str, what: str) -> bytes:
    """A text for the library, without zero bytes, which would end it; `what` names the text in messages."""
    try:
        given = text.encode()
    except (AttributeError, UnicodeEncodeError):
        raise UsageError(f"{what} is {text!r:.100}: give a text of Unicode") from None
    return _whole(given, what)


def encoded_path(path: str | os.PathLike[str]) -> bytes:
    """The path of a file in the system's encoding, whose bytes need not be UTF-8."""
    return _whole(os.fsencode(path), "the path")


def _whole(given: bytes, what: str) -> bytes:
    if 0 in given:
        raise UsageError(f"{what} has a zero byte, in {given!r:.100}: leave it out")
    return given


def why_missing() -> str:
    """The reason why the library cannot be loaded; "" if it is loaded."""
    return _library.reason if isinstance(_library, _Missing) else ""


def reads_hdf5() -> bool:
    """Whether the library reads HDF5; the package's own library does not."""
    return "TESSERA_GAM_LIBRARY" in os.environ


def library_version() -> str:
    """The version of the library, e.g. "0.3.0"."""
    return str(_library.tessera_gam_library_version().decode())


def mpi_version() -> str:
    """The library's MPI, e.g. "Open MPI v4.1.4"; "" if it has none."""
    return str(_library.tessera_gam_mpi_version().decode())


def call(name: str, *arguments: Any) -> None:
    """Calls a function of the library; raises the exception for its status."""
    if getattr(_library, f"tessera_gam_{name}")(*arguments) != 0:
        info = ErrorInfo(size=ctypes.sizeof(ErrorInfo))
        _library.tessera_gam_last_error(byref(info))
        raise error_of(info.status, _text_of(info.message), info.position, _text_of(info.lines))


def _text_of(given: bytes) -> str:
    """A message as text; it may contain bytes from a file or file name that are not UTF-8."""
    return given.decode(errors="backslashreplace")


def text(name: str, *arguments: Any) -> str:
    """The text that a function returns in its last two arguments, text and length."""
    given, length = c_char_p(), c_size_t()
    call(name, *arguments, byref(given), byref(length))
    return (given.value or b"").decode()


class Handle:
    """A table, model or result of the library, which is closed with this object."""

    def __init__(self, kind: str) -> None:
        self.number = c_uint64(0)
        self._close = getattr(_library, f"tessera_gam_{kind}_close")

    @property
    def to(self) -> Any:
        """The address to which a function writes the handle."""
        return byref(self.number)

    def __del__(self) -> None:
        if self.number.value:
            self._close(self.number)


Option = tuple[str, str]


def _plain(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def _listed(value: Any) -> list[Any]:
    """A list of values; a single value becomes a list of one."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return [value] if isinstance(value, (str, bytes)) or not isinstance(value, Iterable) else [*value]


def _joined(value: Any) -> str:
    return ",".join(map(_plain, _listed(value)))


def level_text(column: str, levels: Iterable[Any]) -> str:
    """Levels of a column, quoted, because level and column names may contain commas, quotes and equals signs."""
    texts = ['"' + _plain(text).replace('"', '""') + '"' for text in (column, *levels)]
    return f"{texts[0]}={','.join(texts[1:])}"


def penalty_text(penalties: Mapping[str, Any]) -> str:
    """Penalties of parametric terms as the library's JSON."""
    import json  # few fits need it, and it slows the import of this package

    def plain(value: Any) -> Any:
        value = value.tolist() if hasattr(value, "tolist") else value
        return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value

    fields = {term: given if isinstance(given, Mapping) else {"S": given} for term, given in penalties.items()}
    return json.dumps({term: {name: plain(one) for name, one in given.items()} for term, given in fields.items()})


def contrast_text(tests: Mapping[str, Any]) -> str:
    """Contrasts by the name of their test: a frame of coefficients x contrasts, or the weights of coefficients in a
    mapping or in a list of them."""
    import json

    def contrasts(given: Any) -> list[dict[str, float]]:
        if hasattr(given, "to_dict") and hasattr(given, "columns"):
            given = [given.iloc[:, j].to_dict() for j in range(given.shape[1])]
        listed = [given] if isinstance(given, Mapping) else given
        return [{str(name): float(weight) for name, weight in one.items() if weight != 0} for one in listed]

    return json.dumps({str(name): contrasts(given) for name, given in tests.items()})


def option_texts(options: Mapping[str, Any]) -> list[Option]:
    """Options in the library's form; options with value None are omitted."""
    texts = []
    for name, value in options.items():
        if value is None:
            continue
        if name == "para_pen" and isinstance(value, Mapping):
            texts.append((name, penalty_text(value)))
            continue
        if name == "contrasts" and isinstance(value, Mapping):
            texts.append((name, contrast_text(value)))
            continue
        if isinstance(value, Mapping):
            for key, values in value.items():
                has_levels = name in ("levels", "ordered")
                texts.append((name, level_text(key, _listed(values)) if has_levels else f"{key}={_joined(values)}"))
            continue
        listed = _listed(value)
        if name != "na_strings" and all(isinstance(one, str) for one in listed):
            texts += [(name, one) for one in listed]
        else:
            texts.append((name, _joined(listed)))
    return texts


def request(options: Iterable[Option], progress: Any = _PROGRESS(), cancelled: Any = _CANCELLED()) -> Call:
    """The additional arguments for an interruptible call."""
    texts = [_Option(encoded(name, "an option"), encoded(value, f"the option {name}")) for name, value in options]
    return Call(ctypes.sizeof(Call), (_Option * len(texts))(*texts), len(texts), progress, cancelled)


def interruptible(work: Callable[[Any], T], options: Iterable[Option] = (), progress: Progress | None = None) -> T:
    """Runs `work(call)` on a separate thread; `work` passes `call` to the library.

    An exception on the caller's thread, e.g. KeyboardInterrupt or one from `progress`, ends the work.
    """
    stop = threading.Event()
    news: queue.SimpleQueue[tuple[bool, str] | None] = queue.SimpleQueue()
    asked = request(
        options,
        _PROGRESS(lambda is_line, what, _: news.put((bool(is_line), _text_of(what)))),
        _CANCELLED(lambda _: int(stop.is_set())),
    )
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work(byref(asked)))
        except BaseException as raised:  # noqa: BLE001 - raised again on the caller's thread
            failure.append(raised)
        finally:
            news.put(None)

    thread = threading.Thread(target=run, name="tessera_gam")
    try:
        thread.start()
        while (one := news.get()) is not None:
            is_line, what = one
            if is_line:
                log(what)
            elif progress is not None:
                progress(what)
    except BaseException:
        stop.set()
        if thread.is_alive():
            thread.join(_LONGEST_WAIT)  # otherwise the thread ends later and frees its memory
        raise
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def on_this_thread(work: Callable[[Any], T], options: Iterable[Option], progress: Progress | None = None) -> T:
    """Runs `work(call)` on the caller's thread: an exception raised there ends the work between two steps."""
    raised: list[BaseException] = []

    def tell(is_line: int, what: bytes, _: Any) -> None:
        try:
            if is_line:
                log(_text_of(what))
            elif progress is not None:
                progress(_text_of(what))
        except BaseException as one:  # noqa: BLE001 - raised again once the library has returned
            raised.append(one)

    asked = request(options, _PROGRESS(tell), _CANCELLED(lambda _: int(bool(raised))))
    try:
        return work(byref(asked))
    finally:
        if raised:
            raise raised[0]


def log(line: str) -> None:
    """Logs a line by Python's `logging`."""
    import logging

    logging.getLogger("tessera_gam").info("%s", line)


def warn(what: str) -> None:
    """Warns, with the line in the caller's code."""
    level, frame = 1, sys._getframe()
    package = __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(what, TesseraWarning, stacklevel=level)
