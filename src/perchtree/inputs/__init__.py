"""Rows of data from files and streams, read in batches of bounded size.

There is one module per kind of input; `opening` chooses among them.
"""

FORMATS = ("npy", "npz", "parquet", "csv", "tsv", "jsonl", "authors")
