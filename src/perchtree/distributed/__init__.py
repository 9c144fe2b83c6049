"""The same tree from many machines: search is spread over a Ray cluster, the tree grows here.

Needs the extra `ray`. See docs/scale.md.
"""

from .interface import add, fit

__all__ = ["add", "fit"]
