"""Data from files and streams, batch by batch: one module a kind, `opening` picks it."""
