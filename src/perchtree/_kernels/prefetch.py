"""A hint to the processor: this row will be read soon."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

LINE = 64
"""Bytes fetched at a time."""


def _no_prefetch(array: Any, row: int) -> None:
    """What the hint amounts to when kernels run as plain Python."""


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(typing_context: Any, array: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = make_array(signature.args[0])(context, builder, args[0])
        stride = builder.extract_value(view.strides, 0)
        offset = builder.mul(context.cast(builder, args[1], signature.args[1], types.intp), stride)
        start = builder.bitcast(view.data, cgutils.voidptr_t)
        i32 = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, i32, i32, i32])
        hint = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        with cgutils.for_range_slice(
            builder,
            context.get_constant(types.intp, 0),
            stride,
            context.get_constant(types.intp, LINE),
        ) as (step, _):
            address = cgutils.pointer_add(builder, start, builder.add(offset, step))
            builder.call(hint, [address, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, row), generate


prefetch = _no_prefetch if config.DISABLE_JIT else _prefetch
