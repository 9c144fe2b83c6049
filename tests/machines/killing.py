"""kill -9 of workers, nodes and the driver at random times: the same tree every time.

`python tests/machines/killing.py [RUNS [SEED]]` makes a Ray cluster of three nodes on this machine,
and fits the same rows again and again while something is killed. A driver that was killed is
started anew by the same command. Each tree is compared, byte for byte, with that of one machine.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from nodes import Nodes

ROWS, FEATURES = 24_000, 24
LONGEST = 300.0

MODES = [(), ("--mode", "perch"), ("--search", "cells")]


def make_input(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES)).astype(np.float32)
    X[ROWS // 2 : ROWS // 2 + 500] = X[:500]  # copies
    X[-2000:] = np.round(X[-2000:])  # ties
    (folder / "rows").mkdir()
    for part in range(4):
        np.save(folder / f"rows/{part}.npy", X[part * ROWS // 4 : (part + 1) * ROWS // 4])


def perch(*args):
    return [sys.executable, "-m", "perchtree", *map(str, args)]


class Driver:
    """`perch fit --ray`, started again whenever it was killed."""

    def __init__(self, command):
        self._command = command
        self.start()

    def start(self):
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self.start()

    @property
    def has_ended(self):
        return self._process.poll() is not None

    def end(self):
        """Its exit code, and what it has said."""
        said, _ = self._process.communicate(timeout=LONGEST)
        return self._process.returncode, said


def kill_a_worker(nodes, driver, rng):
    """Kill one that is at a task, as soon as there is one; whether there was."""
    while not driver.has_ended:
        pids = nodes.tell("pids").split()
        if pids:
            try:
                os.kill(int(rng.choice(pids)), signal.SIGKILL)
                return True
            except ProcessLookupError:
                pass  # it has ended by itself
        time.sleep(0.05)
    return False


def one_run(folder, nodes, mode, rng):
    """Fit while things are killed; what was killed."""
    output = folder / "many.perch"
    command = perch(
        "fit", folder / "rows", "-o", output, *mode, "--ray", nodes.address, "--checkpoint", "0.5"
    )
    driver, killed, start = Driver(command), [], time.monotonic()
    for _ in range(rng.randint(1, 4)):
        time.sleep(rng.uniform(0.5, 8))
        if driver.has_ended:
            break
        victim = rng.choice(["worker", "worker", "node", "driver"])
        if victim == "driver":
            driver.kill()
        elif victim == "node":
            nodes.tell(f"kill {rng.randrange(2)}")
            nodes.tell("add 1")
        else:
            if not kill_a_worker(nodes, driver, rng):
                continue
        killed.append(victim)
    code, said = driver.end()
    if code != 0:
        raise SystemExit(f"after {killed} the command has failed: {said}")
    return killed, time.monotonic() - start


def main(runs=50, seed=0):
    rng, counts = random.Random(seed), {"worker": 0, "node": 0, "driver": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_input(folder)
        expected = {}
        for mode in MODES:
            subprocess.run(
                perch("fit", folder / "rows", "-o", folder / "one.perch", *mode, "-q"), check=True
            )
            expected[mode] = (folder / "one.perch").read_bytes()
            (folder / "one.perch").unlink()
        with Nodes(1, 1) as nodes:
            for run in range(runs):
                mode = MODES[run % len(MODES)]
                killed, seconds = one_run(folder, nodes, mode, rng)
                for victim in killed:
                    counts[victim] += 1
                is_same = (folder / "many.perch").read_bytes() == expected[mode]
                print(run + 1, " ".join(mode) or "default", *killed, f"{seconds:.0f} s",
                      "the same" if is_same else "ANOTHER TREE", flush=True)  # fmt: skip
                if not is_same:
                    return 1
                (folder / "many.perch").unlink()
    print(f"{runs} runs, the same tree every time; killed: {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
