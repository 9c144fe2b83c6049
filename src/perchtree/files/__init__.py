"""Files that can be trusted: `container` (arrays with checksums) and `trees` (what is in them)."""
