"""Which kernels tests compile, and how Python calls a single one."""

from perchtree._kernels.jit import entry_point

COMPILED = [("published", "size"), ("published", None), ("interval", "ratio"), ("interval", "size"),
            ("exact", None), ("exact", "ratio"), (None, "size"), (None, None)]  # fmt: skip
"""Each rule at least once. The other pairs of rules are made of the same kernels: plain Python
compares all of them, compiled code only where there is time."""


def callable_from_python(kernel):
    """Inner kernels are compiled without what Python needs to call them."""
    return entry_point(getattr(kernel, "py_func", kernel))
