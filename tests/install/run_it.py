# SPDX-License-Identifier: Apache-2.0
"""run_it.py DOCUMENT FOLDER LAUNCHER MPI FAULTS PROGRAMS: runs the commands of the section "Run it" of DOCUMENT in FOLDER,
as they are written: each ends with status 0, and prints the indented lines that follow it, where "…" stands for anything.
`mpirun` is LAUNCHER, of MPI ("Open MPI" or "MPICH"); lines for the other one are left out, as are injected faults unless
FAULTS is 1, programs that are not in the folder PROGRAMS, and srun, whose lines cluster.run_it runs."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

document, folder, launcher, mpi, faults, programs = sys.argv[1:]
text = Path(document).read_text()
section = re.search(r"^## Run it\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
blocks = re.findall(r"^```sh\n(.*?)^```\n((?:\n(?:    [^\n]*\n)+)?)", section, re.M | re.S)


def reason_to_leave_out(command):
    other = {"Open MPI": "MPICH", "MPICH": "Open MPI"}[mpi]
    if f"# {other}: " in command:
        return f"is for {other}"
    if "TESSERA_FAULT" in command and faults != "1":
        return "needs a build with fault points"
    if command.startswith("srun "):
        return "is run by cluster.run_it"
    for program in re.findall(r"(?<!\S)tessera-\w+", command):
        if not (Path(programs) / program).exists():
            return f"needs {program}, which this build has not"
    return None


def printed(expected, output):
    pattern = ".*".join(re.escape(part) for part in expected.split("…"))
    return any(re.fullmatch(pattern, line) for line in output.splitlines())


failures = 0
ran = 0
with tempfile.TemporaryDirectory() as tools:
    mpirun = Path(tools) / "mpirun"
    mpirun.write_text(f'#!/bin/sh\nexec {launcher} "$@"\n')
    mpirun.chmod(0o755)
    environment = dict(os.environ, PATH=f"{tools}:{programs}:{os.environ['PATH']}")
    for commands, expected in blocks:
        for command in commands.splitlines():
            if why := reason_to_leave_out(command):
                print(f"-- {command}\n   {why}")
                continue
            print(f"== {command}", flush=True)
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            ran += 1
            print(done.stdout, end="")
            missing = [line for line in expected.split("\n") if line and not printed(line.strip(), done.stdout)]
            if done.returncode != 0 or missing:
                failures += 1
                print(f"FAILED: status {done.returncode}, not printed: {missing}")
print(f"{ran} commands of {document}, {failures} failed")
sys.exit(1 if failures or ran < 4 else 0)
