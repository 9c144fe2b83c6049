"""Compiled kernels: plain functions over flat arrays.

Everything that Numba compiles lives in this folder, and only that: the compile cache is
keyed on these sources. Read `schema` first, then `walk`, `distances`, `links`, and the
paper's operations on top of them: `astar`, `rotate`, `collapse`, `insert`.
"""
