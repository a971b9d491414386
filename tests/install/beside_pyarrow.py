# SPDX-License-Identifier: Apache-2.0
"""The plugin for Parquet and pyarrow in one process, in both orders: of the pyarrow that the plugin is built of, of the
same version in another place, and of another version.

    beside_pyarrow.py LIBRARY PLUGIN FILE PYTHON...

LIBRARY is a libtessera_gam, FILE a Parquet file with a column x, each PYTHON one that has pyarrow. What none of them is,
is skipped (77) in a line; with --inside FIRST in place of the Pythons this process does it itself.
"""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys


def needed(plugin):
    """The name of the plugin's libarrow and its folder: arrow_library.cpp has the words."""
    found = re.search(
        rb"tessera_arrow_plugin \d+ needs (libarrow[^\n\0]*)\n([^\0]*)", pathlib.Path(plugin).read_bytes()
    )
    return found[1].decode(), found[2].decode()


def by_library(library, file):
    """The number of rows; or the message of the refusal."""
    gam = ctypes.CDLL(library)
    gam.tessera_gam_error.restype = ctypes.c_char_p
    table, text = ctypes.c_uint64(), ctypes.c_char_p()
    paths = (ctypes.c_char_p * 1)(file.encode())
    names = (ctypes.c_char_p * 1)(b"x")
    if gam.tessera_gam_table_of_files(paths, ctypes.c_size_t(1), None, ctypes.byref(table)) or gam.tessera_gam_columns(
        table, names, ctypes.c_size_t(1), None, 1, ctypes.byref(text), None
    ):
        return gam.tessera_gam_error().decode()
    return json.loads(text.value)["rows"]


def by_pyarrow(file):
    import pyarrow.parquet as pq

    return pq.read_table(file, columns=["x"]).num_rows


def inside(library, file, first):
    if first == "pyarrow":
        told = [by_pyarrow(file), by_library(library, file)]
    else:
        told = [by_library(library, file), by_pyarrow(file)][::-1]
    print(json.dumps([*told, by_pyarrow(file)]))


def main(library, plugin, file, *pythons):
    name, folder = needed(plugin)
    tested = set()
    for python in pythons:
        asked = "import pyarrow, os; print(os.path.realpath(pyarrow.get_library_dirs()[0]))"
        found = subprocess.run([python, "-c", asked], check=False, capture_output=True, text=True)
        if found.returncode != 0:
            continue
        place = found.stdout.strip()
        kind = "another version"
        if os.path.exists(os.path.join(place, name)):
            kind = "the same" if os.path.samefile(place, folder) else "the same version elsewhere"
        tested.add(kind)
        for first in ("pyarrow", "library"):
            command = [python, __file__, library, plugin, file, "--inside", first]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            assert done.returncode == 0, f"{python}, {first} first: {done.returncode}\n{done.stdout}{done.stderr}"
            of_pyarrow, of_library, again = json.loads(done.stdout)
            assert of_pyarrow == again, (python, first, done.stdout)
            if kind == "the same version elsewhere" and first == "pyarrow":
                assert "but this process has loaded" in of_library and "\n" not in of_library, of_library
                print(f"{kind}, {first} first: refused: {of_library}")
            else:
                assert of_library == of_pyarrow, (python, first, done.stdout)
                print(f"{kind}, {first} first: {of_library} rows")
    missing = {"the same", "the same version elsewhere", "another version"} - tested
    if missing:
        print(
            f"SKIPPED: no Python has pyarrow of these kinds: {', '.join(sorted(missing))} (-D TESSERA_PYTHONS_OF_PYARROW)"
        )
        sys.exit(77)


if __name__ == "__main__":
    if sys.argv[-2] == "--inside":
        inside(sys.argv[1], sys.argv[3], sys.argv[-1])
    else:
        main(*sys.argv[1:])
