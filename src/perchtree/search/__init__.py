"""Searches for nearest leaves: one interface, one module per search."""
