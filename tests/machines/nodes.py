"""A Ray cluster of several nodes on this machine, in a process of its own.

`python nodes.py 1 1` starts nodes of so many processors beside a head without any. Each line on
standard input is a command; each is answered by a line:

    kill N    kill -9 of everything that belongs to the node with this number
    add N     a new node with so many processors
    pids      the process ids of all workers that are at a task of ours

When standard input ends, everything ends, also if whoever started it was killed.
"""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

OBJECT_STORE = 100 * 2**20


class Nodes:
    """Such a cluster, for a test."""

    def __init__(self, *cpus):
        self._process = subprocess.Popen(
            [sys.executable, __file__, *map(str, cpus)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError("the cluster did not start")

    def tell(self, command):
        """Give a command; its answer."""
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self._process.stdin.close()
        self._process.wait(timeout=60)


def children():
    """Process id -> its parent and what it calls itself, of all processes."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                name = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (OSError, ValueError):
                continue  # it has ended meanwhile
            found[int(folder.name)] = parent, name
    return found


def main(cpus):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    warnings.simplefilter("ignore")
    from ray.cluster_utils import Cluster

    own_output = os.dup(1)
    os.dup2(2, 1)  # what Ray prints
    common = {"object_store_memory": OBJECT_STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **common})
    nodes = [cluster.add_node(num_cpus=n, object_store_memory=OBJECT_STORE) for n in cpus]
    answer = os.fdopen(own_output, "w")
    try:
        print(cluster.address, file=answer, flush=True)
        for line in sys.stdin:
            command, _, number = line.strip().partition(" ")
            said = "done"
            if command == "kill":
                cluster.remove_node(nodes.pop(int(number)), allow_graceful=False)
            elif command == "add":
                nodes.append(
                    cluster.add_node(num_cpus=int(number), object_store_memory=OBJECT_STORE)
                )
            elif command == "pids":
                processes = children()
                raylets = {pid for pid, (_, name) in processes.items() if "raylet/raylet" in name}
                own = {pid for pid in raylets if processes[pid][0] == os.getpid()}
                said = " ".join(
                    str(pid)
                    for pid, (parent, name) in processes.items()
                    if parent in own and name.startswith("ray::carry_out")  # no agents of Ray's
                )
            print(said, file=answer, flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main([int(n) for n in sys.argv[1:]])
