"""Searches for a whole batch: which neighbours, found how, on how many threads."""
