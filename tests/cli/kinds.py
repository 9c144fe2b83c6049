"""The same rows as every kind of input."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROLES = ["--id", "key", "--class", "class", "--text", "about"]
NAMED = ["npz", "parquet", "lists.parquet", "folder", "csv", "csv.gz", "tsv", "jsonl",
         "lists.jsonl"]  # fmt: skip
KINDS = ["npy", *NAMED, "authors"]
"""All that are files; a text kind can be a stream as well."""


class Rows:
    """Rows with ids, classes and texts; `spoil` replaces one value by something bad."""

    def __init__(self, X, keys=None):
        self.X = [list(map(float, row)) for row in X]
        self.keys = keys or [f"k{i}" for i in range(len(X))]
        self.classes = [i % 3 for i in range(len(X))]
        self.texts = [f'row {i}, "quoted"\nand more' for i in range(len(X))]
        self.names = [f"f{j}" for j in range(len(self.X[0]))]

    @property
    def records(self):
        columns = zip(self.keys, self.classes, self.texts, self.X, strict=True)
        return [{"key": k, "class": c, "about": t} | self._features(x) for k, c, t, x in columns]

    def _features(self, x):
        return dict(zip(self.names, x, strict=False))

    def write(self, folder: Path, kind: str) -> list[str]:
        """Write a file or folder; what to give `perch` to read it, ids, classes and texts too."""
        path = folder / f"rows.{kind}"
        getattr(self, "_write_" + kind.replace(".", "_"))(path)
        if kind == "npy":
            return [str(path)]
        if kind == "authors":
            return [str(path), "--format", "authors"]
        lists = ["--features", "emb"] if "lists" in kind else []
        return [str(path), *ROLES, *lists]

    def _write_npy(self, path):
        np.save(path, np.array(self.X, np.float32))

    def _write_npz(self, path):
        columns = {"key": self.keys, "class": self.classes, "about": self.texts}
        np.savez_compressed(path, X=np.array(self.X, np.float32), **columns)

    def _table(self):
        columns = {"key": self.keys, "class": self.classes, "about": self.texts}
        for j, name in enumerate(self.names):
            columns[name] = pa.array([row[j] for row in self.X], pa.float32())
        return pa.table(columns)

    def _write_parquet(self, path):
        pq.write_table(self._table(), path, row_group_size=4)

    def _write_lists_parquet(self, path):
        columns = {"key": self.keys, "class": self.classes, "about": self.texts}
        columns["emb"] = pa.array(self.X, pa.list_(pa.float32()))
        pq.write_table(pa.table(columns), path, row_group_size=4)

    def _write_folder(self, path):
        path.mkdir()
        table = self._table()
        for part, start in enumerate(range(0, len(table), 5)):
            pq.write_table(table.slice(start, 5), path / f"part-{part:03}.parquet")

    def _write_delimited(self, file, delimiter):
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["key", "class", "about", *self.names])
        for key, label, text, row in zip(self.keys, self.classes, self.texts, self.X, strict=True):
            writer.writerow([key, label, text, *row])

    def _write_csv(self, path):
        with path.open("w", newline="") as file:
            self._write_delimited(file, ",")

    def _write_tsv(self, path):
        with path.open("w", newline="") as file:
            self._write_delimited(file, "\t")

    def _write_csv_gz(self, path):
        with gzip.open(path, "wt", newline="") as file:
            self._write_delimited(file, ",")

    def _write_jsonl(self, path):
        path.write_text("".join(json.dumps(record) + "\n" for record in self.records))

    def _write_lists_jsonl(self, path):
        rows = zip(self.keys, self.classes, self.texts, self.X, strict=True)
        path.write_text(
            "".join(
                json.dumps({"key": k, "class": c, "about": t, "emb": x}) + "\n"
                for k, c, t, x in rows
            )
        )

    def _write_authors(self, path):
        rows = zip(self.keys, self.classes, self.X, strict=True)
        path.write_text("".join("\t".join(map(str, [k, c, *x])) + "\n" for k, c, x in rows))
