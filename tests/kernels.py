"""Single kernels, for tests of just one."""

from perchtree._kernels.jit import entry_point


def callable_from_python(kernel):
    """Inner kernels are compiled without what Python needs to call them."""
    return entry_point(getattr(kernel, "py_func", kernel))
