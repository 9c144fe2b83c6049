"""Tools for those who develop perchtree."""
