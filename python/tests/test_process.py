# SPDX-License-Identifier: Apache-2.0
"""The package within its user's process: interrupts, threads, fork, memory."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import unittest
import unittest.mock
import warnings

import numpy as np
from support import FORMULA, main, rows

from tessera_gam import GAM, _native


def long_fit(**arguments):
    return GAM("y ~ s(x, k=30) + te(x, z, k=10)", family="Gamma", device="cpu").fit(
        {name: values if name == "g" else np.abs(values) + 0.1 for name, values in rows(200_000).items()}, **arguments
    )


def fitted_text(seed):
    return GAM(FORMULA).fit(rows(seed=seed)).to_json()


class Interrupts(unittest.TestCase):
    def setUp(self):
        self.refusals = unittest.mock.Mock(wraps=_native.error_of)
        self.enterContext(unittest.mock.patch.object(_native, "error_of", self.refusals))

    def tearDown(self):
        for thread in threading.enumerate():
            if thread.name == "tessera_gam":
                thread.join()
        [[status, *_], _] = self.refusals.call_args
        self.assertEqual(status, 75)  # the work has ended on request
        expected = GAM(FORMULA).fit(rows()).to_json()
        self.assertEqual(GAM(FORMULA).fit(rows()).to_json(), expected)

    def test_control_c_while_the_fit_works(self):
        working = threading.Event()

        def interrupt():
            working.wait()
            os.kill(os.getpid(), signal.SIGINT)

        sender = threading.Thread(target=interrupt)
        sender.start()
        with self.assertRaises(KeyboardInterrupt):
            long_fit(progress=lambda what: working.set())
        sender.join()

    def test_exception_of_a_callback(self):
        said = []

        def fail(what):
            said.append(what)
            raise ZeroDivisionError("mine")

        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            long_fit(progress=fail)
        self.assertEqual(len(said), 1)

    def test_handler_of_another_signal_raises(self):
        def expire(number, frame):
            raise TimeoutError

        before = signal.signal(signal.SIGALRM, expire)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with self.assertRaises(TimeoutError):
            long_fit(progress=lambda what: signal.setitimer(signal.ITIMER_REAL, 0.02))

    def test_draws_end_with_their_caller(self):
        """The processes would continue for minutes; tearDown waits for them."""

        def expire(number, frame):
            raise TimeoutError

        before = signal.signal(signal.SIGALRM, expire)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        model = GAM(FORMULA).fit(rows())
        for draw in (model.smooths, model.derivatives):
            with self.assertRaises(TimeoutError):
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                draw(draws=50_000_000, points=1000)


class GuestOfAProcess(unittest.TestCase):
    def test_import_needs_numpy_alone(self):
        code = "import sys, numpy; before = set(sys.modules); import tessera_gam; print(*set(sys.modules) - before)"
        imported = set(self.python(code).stdout.split())
        self.assertIn("tessera_gam._gam", imported)
        packages = {"pandas", "polars", "pyarrow", "matplotlib", "scipy", "sklearn", "IPython"}
        slow = {"csv", "html", "json", "logging", "pathlib", "shutil", "subprocess", "tempfile", "urllib"}
        self.assertEqual({name.partition(".")[0] for name in imported} & (packages | slow), set())

    def test_log(self):
        with self.assertLogs("tessera_gam", logging.INFO) as log:
            GAM(FORMULA).fit(rows())
        self.assertTrue(any("g: factor of 3 levels" in line for line in log.output), log.output)

    def test_handlers_stay(self):
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]
        GAM(FORMULA).fit(rows())
        after = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]
        self.assertEqual(before, after)

    def test_fits_in_two_threads(self):
        expected = [GAM(FORMULA).fit(rows(seed=seed)).to_json() for seed in (1, 2)]
        found = [[], []]

        def fit(place):
            for _ in range(3):
                found[place].append(GAM(FORMULA).fit(rows(seed=place + 1)).to_json())

        threads = [threading.Thread(target=fit, args=(place,)) for place in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [[expected[0]] * 3, [expected[1]] * 3])

    def test_fits_in_a_thread_and_in_the_main_one(self):
        """Two functions run at the same time: neither waits for the other, and neither changes the other's bits."""
        data = [rows(20_000, seed) for seed in (1, 2)]
        expected = [GAM(FORMULA).fit(one).to_json() for one in data]
        found, begun, ended = [], threading.Event(), threading.Event()

        def fit():
            while not ended.is_set():
                found.append(GAM(FORMULA).fit(data[0], progress=lambda what: begun.set()).to_json())

        thread = threading.Thread(target=fit)
        thread.start()
        begun.wait()
        here = [GAM(FORMULA).fit(data[1]).to_json() for _ in range(3)]
        ended.set()
        thread.join()
        self.assertEqual(here, [expected[1]] * 3)
        self.assertEqual(set(found), {expected[0]})

    def test_out_of_memory(self):
        """A fit that needs too much memory raises an error; the process continues."""
        code = """
            import resource
            from support import FORMULA, rows
            from tessera_gam import GAM, TesseraError
            few, many = rows(), rows(400_000)
            expected = GAM(FORMULA, threads=1).fit(few).to_json()
            with open("/proc/self/statm") as file:
                used = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20), resource.RLIM_INFINITY))
            try:
                GAM("y ~ te(x, z, k=30)", threads=1).fit(many)
            except (MemoryError, TesseraError) as refused:
                print(type(refused).__name__, refused)
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
            print(GAM(FORMULA, threads=1).fit(few).to_json() == expected)
        """
        done = self.python(code)
        refused, same = done.stdout.splitlines()
        self.assertRegex(refused, "memory|ulimit -v")
        self.assertEqual(same, "True")

    def python(self, code):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env=environment, capture_output=True, text=True, timeout=100,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def test_pool_of_forked_processes(self):
        expected = [GAM(FORMULA).fit(rows(seed=seed)).to_json() for seed in range(4)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python warns that threads were started before
            with multiprocessing.get_context("fork").Pool(2) as pool:
                self.assertEqual(pool.map(fitted_text, range(4)), expected)

    def test_fork(self):
        expected = GAM(FORMULA).fit(rows()).to_json()
        child = os.fork()
        if child == 0:
            os._exit(0 if GAM(FORMULA).fit(rows()).to_json() == expected else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_memory_does_not_grow(self):
        def bytes_in_use():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        data = rows(300)
        model = GAM("y ~ g + s(x, k=5)", threads=1)

        def repeat(times):
            for one in range(times):
                model.fit(data)
                if one % 10 == 0:
                    model.predict(data)

        repeat(50)
        before = bytes_in_use()
        repeat(1000)
        self.assertLess(bytes_in_use() - before, 8 << 20)


if __name__ == "__main__":
    main()
