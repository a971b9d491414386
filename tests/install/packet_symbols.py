#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if an object that is compiled for one width of registers defines a weak function or object that other sources
may define too: the linker could take this one for every processor.

Usage: packet_symbols.py NM LIST; LIST has the objects, separated by `;`.
"""
import pathlib
import re
import subprocess
import sys

OWN = re.compile(r"Packet<\d>|_of_width<\d|DenseKernels<\d>")
WEAK = re.compile(r"^[0-9a-f]+ [WVu] (?!DW\.ref\.)(.*)$", re.M)

nm, objects = sys.argv[1], pathlib.Path(sys.argv[2]).read_text().strip().split(";")
packets = [name for name in objects if re.search(r"/(?:packet_\w+|dense_kernels)_[248]\.cpp\.", name)]
if not packets:
    sys.exit("no object of packets is in the list")
faults = [f"{pathlib.Path(name).name}: {symbol[1]}" for name in packets
          for symbol in WEAK.finditer(subprocess.run([nm, "--demangle", name], check=True, capture_output=True,
                                                     text=True).stdout)
          if not OWN.search(symbol[1])]
if faults:
    sys.exit("\n".join(faults))
