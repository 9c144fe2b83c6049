"""What all pictures share: colours, and text that is drawn as it is."""

from typing import Any

LINE, DIM, ACCENT, SECOND = "#3b4252", "#8a919e", "#c2410c", "#2563eb"

VERBATIM: dict[str, Any] = {"parse_math": False, "usetex": False}
"""For all text of the user's: a `$` is a dollar, not the start of a formula."""
