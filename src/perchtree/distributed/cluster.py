"""A Ray cluster as a place where tasks are carried out; the only module that knows Ray."""

import contextlib
import logging
import os
import socket
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ..encode.interface import Encoder
from ..search.threads import count_jobs
from .job import Job
from .worker import Missing, OtherMachineError, carry_out, check_folder

Handle = Any

_ATTEMPTS, _ATTEMPT_SECONDS = 3, 3.0
"""How often a cluster is asked to let us in, and how long to wait in between."""
_COUNT_SECONDS = 2.0
"""After which workers are counted again: machines may come and go."""


class Workers(Protocol):
    """Where tasks are carried out."""

    @property
    def n_workers(self) -> int:
        """How many tasks run at a time."""

    def begin(self, job: Job, encoder: Encoder | None) -> None:
        """Check all machines, and let them know what tasks need."""

    def submit(self, kind: str, *about: Any) -> Handle: ...

    def wait(
        self, handles: Sequence[Handle], seconds: float
    ) -> list[tuple[Handle, Missing | None]]:
        """The tasks that are done, at least one unless time is over, and what each lacked."""

    def cancel(self, handles: Sequence[Handle]) -> None: ...


def load_ray() -> Any:
    """Import Ray without its messages, or raise an error that says how to install it."""
    # What it would print belongs into its logs; it must not call home, or look for updates.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise ImportError(
            "many machines need Ray: pip install 'perchtree[ray]' (there are no wheels of it for "
            "some systems)"
        ) from None
    return ray


@contextlib.contextmanager
def connected(address: str, n_jobs: int | None = None) -> Iterator["RayWorkers"]:
    """A cluster that runs, by its address or "auto"; or "local", one that is started here.

    If this process is connected already, that cluster is used, and left as it is.
    """
    ray = load_ray()
    if ray.is_initialized():
        yield RayWorkers(ray)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _connect(ray, address, n_jobs)
    try:
        yield RayWorkers(ray)
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str, n_jobs: int | None) -> None:
    quiet = {"logging_level": logging.FATAL, "log_to_driver": False}
    if address == "local":
        n_cpus = count_jobs(-1 if n_jobs is None else n_jobs)
        quiet |= {"num_cpus": n_cpus, "include_dashboard": False, "object_store_memory": 2**27}
    else:
        _check_address(_found() if address == "auto" else address)
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            with _silenced():
                ray.init(address=address, **quiet)
            _hush()
            return
        except Exception as error:  # where a machine is too busy to start it, just that
            ray.shutdown()
            # A cluster that is busy, or has just lost a machine, may not answer in time.
            is_final = is_absent(error) or "ersion mismatch" in _told(error) or is_closed(error)
            if attempts_left == 0 or is_final:
                raise ConnectionError(_why_not(address, error)) from None
        time.sleep(_ATTEMPT_SECONDS)


def _hush() -> None:
    """Keep away what Ray says about each worker that is lost; no option of its own does that."""
    with contextlib.suppress(ImportError):
        from ray._private import worker

        worker.print_to_stdstream = lambda *_args, **_more: None


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Drop what compiled code writes to standard error: Ray says every second why it waits."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def is_absent(error: Exception) -> bool:
    """Whether Ray says that there is no cluster, not that it has failed to reach one."""
    return isinstance(error, ConnectionError) and "Could not find any running" in str(error)


def is_closed(error: Exception) -> bool:
    """Whether the cluster wants a token that Ray has not sent."""
    return "AuthToken" in _told(error) or "uthentication" in _told(error)


def _told(error: Exception) -> str:
    """What Ray says, in one line; itself it may say only that it has failed."""
    return " ".join(str(error.__cause__ or error).split())


def _found() -> str:
    """The cluster that Ray would connect to, which may be one that has ended without notice."""
    try:
        from ray._private.services import canonicalize_bootstrap_address
    except ImportError:  # it belongs to Ray alone: then Ray itself finds out
        return "auto"
    try:
        return canonicalize_bootstrap_address("auto") or "auto"
    except ConnectionError:
        raise ConnectionError(_no_cluster("auto")) from None


def _check_address(address: str) -> None:
    """Reject an address where nobody listens: Ray itself would try for a long time."""
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError(f"--ray {address}: an address is HOST:PORT, auto or local")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except OSError:
        raise ConnectionError(_no_cluster(address)) from None


def _no_cluster(address: str) -> str:
    where = "on this machine" if address == "auto" else f"at {address}"
    return f"there is no Ray cluster {where}: start one by `ray start --head`, or use --ray local"


def _why_not(address: str, error: Exception) -> str:
    told = _told(error)[:200]
    if is_closed(error):
        return (
            f"the Ray cluster at {address} wants a token: set RAY_AUTH_MODE=token, with the "
            "cluster's token where Ray looks for it (ray get-auth-token)"
        )
    if "ersion mismatch" in told:
        return f"the cluster at {address} has another version of Ray or Python: {told}"
    if is_absent(error):
        return _no_cluster(address)
    if address == "local":
        return f"Ray cannot be started here: {told}"
    return f"the Ray cluster at {address} does not answer, try again: {told}"


class RayWorkers:
    """Tasks of Ray: each is tried again wherever there is room, as often as a worker is lost."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._task = ray.remote(num_cpus=1, max_retries=-1)(carry_out)
        self._job: Any = None
        self._encoder: Any = None
        self._n_workers, self._counted_at = 0, -_COUNT_SECONDS

    @property
    def n_workers(self) -> int:
        if time.monotonic() - self._counted_at > _COUNT_SECONDS:
            self._counted_at = time.monotonic()
            self._n_workers = int(self._ray.cluster_resources().get("CPU", 0))
        return self._n_workers

    def begin(self, job: Job, encoder: Encoder | None) -> None:
        self._job, self._encoder = job, self._ray.put(encoder)
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        check = self._ray.remote(num_cpus=0, max_retries=3)(check_folder)
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        asked = [
            check.options(scheduling_strategy=strategy(node["NodeID"], soft=True)).remote(job)
            for node in nodes
            if node["Resources"].get("CPU")
        ]
        if not asked:
            raise ConnectionError("the Ray cluster has no processors: add machines to it")
        for handle in asked:
            self._get(handle)

    def submit(self, kind: str, *about: Any) -> Handle:
        return self._task.remote(self._job, self._encoder, kind, *about)

    def wait(
        self, handles: Sequence[Handle], seconds: float
    ) -> list[tuple[Handle, Missing | None]]:
        done, _ = self._ray.wait(list(handles), num_returns=1, timeout=seconds)
        if done:  # and all others that are, too
            done, _ = self._ray.wait(list(handles), num_returns=len(handles), timeout=0)
        return [(handle, self._get(handle)) for handle in done]

    def cancel(self, handles: Sequence[Handle]) -> None:
        for handle in handles:
            with contextlib.suppress(Exception):
                self._ray.cancel(handle)

    def _get(self, handle: Handle) -> Any:
        try:
            return self._ray.get(handle)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
            # What is sent cannot be read there: something is missing, or is another version.
            unread = ModuleNotFoundError, self._ray.exceptions.RaySystemError
            if isinstance(cause, unread) or "ModuleNotFoundError" in str(error):
                told = " ".join(str(cause).partition("traceback:")[0].split())[:100]
                raise OtherMachineError(
                    "a machine of the cluster lacks perchtree, or something it needs, or has "
                    f"another version: install the same everywhere ({told})"
                ) from None
            raise cause from None
        except self._ray.exceptions.RayError as error:
            first = " ".join(str(error).split())[:200]
            raise ConnectionError(f"the Ray cluster is gone, or gave up: {first}") from None
