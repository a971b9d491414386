# SPDX-License-Identifier: Apache-2.0
"""Times whole calls from a data frame to predictions: tessera-gam, gamfit, pyGAM and mgcv's bam.

    python3 -m venv venv && venv/bin/pip install ./python pandas pyarrow gamfit pygam
    venv/bin/python python/benchmarks/compare.py --out results.json

Each program fits y ~ s(x0) + s(x1) + s(x2) + s(x3) with P-splines of k = 20 to the same rows, and predicts them, in a
process of its own, after a first fit of 2,000 rows that loads libraries. Programs take turns; times are the smallest of
the repetitions, in seconds. Programs that are not installed are named and skipped. The result contains the machine, its
load and the commit: ratios are meaningful only on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMOOTHS = 4
FORMULA = "y ~ " + " + ".join(f"s(x{j}, bs='ps', k=20)" for j in range(SMOOTHS))
LARGEST = {"pygam": 200_000, "gamfit": 2_000_000, "gamfit_default": 2_000_000}
LIMIT = 1800  # time limit of a process in seconds

# For each program the code of `once(frame)`, which returns the predictions of the frame's rows.
CODE = {
    "tessera": f"""
        from tessera_gam import GAM
        def once(frame):
            return GAM({FORMULA!r}).fit(frame).predict(frame)
    """,
    "gamfit": f"""
        import gamfit
        def once(frame):
            return gamfit.fit(frame, {FORMULA.replace("'", chr(34))!r}).predict(frame)
    """,
    "gamfit_default": """
        import gamfit
        def once(frame):
            return gamfit.fit(frame, "y ~ s(x0) + s(x1) + s(x2) + s(x3)").predict(frame)
    """,
    "pygam": """
        from pygam import LinearGAM, s
        def once(frame):
            X = frame[["x0", "x1", "x2", "x3"]].to_numpy()
            terms = s(0, n_splines=20) + s(1, n_splines=20) + s(2, n_splines=20) + s(3, n_splines=20)
            return LinearGAM(terms).gridsearch(X, frame.y.to_numpy(), progress=False).predict(X)
    """,
}
HARNESS = """
import json, resource, sys, time
import numpy as np
import pandas as pd
path, repetitions = sys.argv[1], int(sys.argv[2])
with np.load(path) as stored:
    frame = pd.DataFrame({name: stored[name] for name in stored.files})
{code}
once(frame.head(2000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
times = []
for _ in range(repetitions):
    begun = time.perf_counter()
    fit = once(frame)
    times.append(time.perf_counter() - begun)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
fit = np.asarray(fit["mean"] if hasattr(fit, "columns") and "mean" in fit else fit, float).reshape(len(frame), -1)[:, 0]
error = float(np.sqrt(np.mean((fit - frame.y) ** 2)))
print(json.dumps(dict(times=times, grown_mb=grown / 1024, frame_mb=frame.memory_usage().sum() / 2**20, residual=error)))
"""
BAM = """
suppressMessages(library(mgcv))
arguments <- commandArgs(TRUE)
rows <- as.integer(arguments[2])
file <- file(arguments[1], "rb")
frame <- as.data.frame(matrix(readBin(file, "double", rows * 5), rows))
names(frame) <- c("x0", "x1", "x2", "x3", "y")
once <- function(d)
  predict(bam(FORMULA, data = d, discrete = TRUE, nthreads = parallel::detectCores()), d)
invisible(once(frame[1:2000, ]))
times <- sapply(seq_len(as.integer(arguments[3])), function(i) system.time(fit <<- once(frame))[["elapsed"]])
cat(sprintf('{"times": [%s], "residual": %.17g}\\n', paste(format(times, digits = 6), collapse = ", "),
            sqrt(mean((fit - frame$y)^2))))
"""


def rows_of(count: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(7)
    x = random.random((SMOOTHS, count))
    truth = np.sin(6 * x[0]) + x[1] ** 2 + np.exp(-20 * (x[2] - 0.5) ** 2) + 0.3 * np.cos(9 * x[3])
    return {f"x{j}": x[j] for j in range(SMOOTHS)} | {"y": truth + random.normal(0, 0.5, count)}


def answer_of(command: list[str]) -> dict[str, object]:
    """The JSON in the last line of a program's output, or why there is none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"left_out": f"more than {LIMIT} s"}
    if done.returncode:
        return {"left_out": (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def measure(name: str, count: int, repetitions: int, folder: pathlib.Path) -> dict[str, object]:
    if count > LARGEST.get(name, count):
        return {"left_out": f"asked up to {LARGEST[name]} rows"}
    data = rows_of(count)
    if name == "bam":
        if not shutil.which("Rscript"):
            return {"left_out": "there is no Rscript"}
        np.concatenate(list(data.values())).tofile(folder / "rows.bin")
        (folder / "bam.R").write_text(BAM.replace("FORMULA", FORMULA))
        return answer_of(["Rscript", str(folder / "bam.R"), str(folder / "rows.bin"), str(count), str(repetitions)])
    np.savez(folder / "rows.npz", **data)
    code = HARNESS.replace("{code}", textwrap.dedent(CODE[name]))
    return answer_of([sys.executable, "-c", code, str(folder / "rows.npz"), str(repetitions)])


def import_seconds() -> dict[str, object]:
    """Seconds for `import tessera_gam` in new processes, including numpy, the smallest of five; and for numpy only."""
    found = {}
    for module in ("numpy", "tessera_gam"):
        code = f"import time; begun = time.perf_counter(); import {module}; print(time.perf_counter() - begun)"
        found[module] = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5))
    return found


def machine() -> dict[str, object]:
    with open("/proc/cpuinfo") as file:
        models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "commit": commit.stdout.strip(),
        "began": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000, 2_000_000])
    parser.add_argument("--programs", nargs="+", default=[*CODE, "bam"], choices=[*CODE, "bam"])
    parser.add_argument("--repetitions", type=int, default=3, help="of each; 1 of what takes minutes")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results.json"))
    asked = parser.parse_args()
    results: dict[str, object] = {"machine": machine(), "formula": FORMULA, "import": import_seconds(), "rows": {}}
    with tempfile.TemporaryDirectory() as name:
        for count in asked.rows:
            found: dict[str, dict[str, object]] = {}
            for program in asked.programs:
                one = found[program] = measure(program, count, asked.repetitions, pathlib.Path(name))
                if "times" in one:
                    one["seconds"] = min(one["times"])  # type: ignore[type-var]
                    if "seconds" in found.get("tessera", {}):
                        one["ratio"] = one["seconds"] / found["tessera"]["seconds"]  # type: ignore[operator]
                print(count, program, {k: v for k, v in one.items() if k != "times"}, flush=True)
                results["rows"][str(count)] = found  # type: ignore[index]
                asked.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
