#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if an object on the way from a row to a model calls a function of libm whose last bits depend on the CPU, in
place of base/math. Those of libm that are exact may be called, as sqrt, and all of them by the sources in `LISTED`.

Usage: math_symbols.py NM LIST; LIST has the objects, separated by `;`. In a unity build, whose objects are of no room,
the sources are read in their place.
"""
import pathlib
import re
import subprocess
import sys

ROOMS = "family|rows|reml|fit|terms|design|formula|basis|linalg|inference|model|many"
INEXACT = re.compile(r"(?:a?(?:cos|sin|tan)h?|atan2|exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|cbrt|hypot|erfc?"
                     r"|[lt]?gamma|sincos|c(?:exp|log|pow|abs|arg|sqrt)|j[01n]|y[01n])[fl]?(?:_r)?")
# Boost's distributions, for probabilities and quantiles of a response, which no fit asks for.
LISTED = {"family/response_distribution.cpp", "family/several_family.cpp"}

nm, objects = sys.argv[1], pathlib.Path(sys.argv[2]).read_text().strip().split(";")
found = {}
for name in objects:
    room = re.search(rf"/tessera_gam\.dir/((?:{ROOMS})/.*\.cpp)\.", name)
    if room:
        undefined = subprocess.run([nm, "--undefined-only", "--format=just-symbols", name], check=True,
                                   capture_output=True, text=True).stdout.split()
        found[room[1]] = {symbol for symbol in undefined if INEXACT.fullmatch(symbol.split("@")[0])}
if not found:
    call = re.compile(rf"\bstd::({INEXACT.pattern})\(")
    sources = pathlib.Path(__file__).resolve().parents[2] / "src/gam"
    for source in sorted(path for room in ROOMS.split("|") for path in (sources / room).rglob("*.[ch]pp")):
        found[str(source.relative_to(sources))] = {match[0] for match in call.finditer(source.read_text())}
if not found:
    sys.exit("there is neither an object nor a source of these rooms")
faults = [f"{name}: {symbol}" for name, symbols in sorted(found.items()) if name not in LISTED
          for symbol in sorted(symbols)]
if faults:
    sys.exit("call the functions of base/math:\n" + "\n".join(faults))
