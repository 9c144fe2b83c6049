"""From texts to vectors."""

from .hashed import Chars, Words
from .interface import Encoder
from .making import make_encoder
from .sparse import project

__all__ = ["Chars", "Encoder", "Words", "make_encoder", "project"]
