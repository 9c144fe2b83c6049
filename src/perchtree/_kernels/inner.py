"""Inner kernels, which only other kernels call: compiled once, and to intermediate code only.

Numba links the intermediate code of a kernel into its callers, and machine code is generated for
the whole. What it would generate for the inner kernel alone is never run, yet that took a quarter
of the compile time. Numba would also compile an inner kernel again for each constant among its
arguments and for each width of integer.

This relies on private interfaces of Numba. `jit` does without this module where they are missing.
"""

from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

for needed in ("_finalize_dynamic_globals", "_finalize_final_module", "get_pointer_to_function"):
    getattr(JITCodeLibrary, needed)


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """Optimised intermediate code for callers to link, without machine code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: without machine code there is nothing to set."""


class InnerCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, stopping short of machine code."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, *others: Any
    ) -> None:
        library = _Library(targetctx.codegen(), "kernel")
        super().__init__(typingctx, targetctx, library, args, *others)


def use_plain_types(dispatcher: Any) -> None:
    """Compile a kernel for int64 wherever a caller passes an integer, constant or not."""
    find = dispatcher.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return find(tuple(map(_plain, args)), {name: _plain(kws[name]) for name in kws})

    dispatcher.get_call_template = get_call_template


def _plain(kind: Any) -> Any:
    kind = types.unliteral(kind)
    return types.int64 if kind == types.int32 else kind
