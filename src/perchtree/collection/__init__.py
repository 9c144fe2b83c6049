"""Records with an identity, the tree they are in, and the file they are kept in."""

from .collection import Collection
from .corrections import Correction
from .standing import ClusterEvent, Standing

__all__ = ["ClusterEvent", "Collection", "Correction", "Standing"]
