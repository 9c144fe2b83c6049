"""Data from files and streams, batch by batch: one module a kind, `opening` picks it."""

FORMATS = ("npy", "npz", "parquet", "csv", "tsv", "jsonl", "authors")
