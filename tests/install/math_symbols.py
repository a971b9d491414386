#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if an object on the way from a row to a model calls a function of libm whose last bits depend on the CPU, in
place of base/math. Those of libm that are exact may be called, as sqrt, and all of them by the sources in `LISTED`.

Usage: math_symbols.py NM LIST; LIST has the objects, separated by `;`. Objects of a unity build are of no room.
"""
import pathlib
import re
import subprocess
import sys

ROOMS = "family|rows|reml|fit|terms|design|formula|basis|linalg"
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
    sys.exit("no object of these rooms is in the list")
faults = [f"{name}: {symbol}" for name, symbols in sorted(found.items()) if name not in LISTED
          for symbol in sorted(symbols)]
if faults:
    sys.exit("call the functions of base/math:\n" + "\n".join(faults))
