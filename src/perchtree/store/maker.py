"""Who does the operations: the same maker does them again with the identical result."""

import functools
import hashlib
import importlib.metadata
import platform
from pathlib import Path

import numba
from llvmlite import binding

from .. import _kernels


@functools.cache
def made_by() -> str:
    """Version, kernels, compiler and processor type, in one line."""
    digest = hashlib.sha256()
    for source in sorted(Path(_kernels.__file__).parent.glob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    version = importlib.metadata.version("perchtree")
    compiler = "no compiler" if numba.config.DISABLE_JIT else f"numba {numba.__version__}"
    processor = f"{platform.machine()} {binding.get_host_cpu_name()}"
    return f"perchtree {version} ({digest.hexdigest()[:12]}), {compiler}, {processor}"
