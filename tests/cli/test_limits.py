"""Memory and time are bounded, whatever an input declares or decompresses to."""

import gzip
import json
import os
import sys
import threading
import time
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from perchtree.inputs import delimited, records
from perchtree.inputs.batches import MAX_BATCH, MAX_ROW, Columns, InputError
from perchtree.inputs.lines import MAX_FIELDS, MAX_LINE, Lines
from perchtree.inputs.opening import open_input

MB = 2**20


def peak_memory(work):
    """Bytes that Python and NumPy held at most while `work` ran."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def read_all(path, n_rows=1000, columns=None):
    return sum(len(batch.X) for batch in open_input(str(path), columns).batches(n_rows))


def test_a_long_line_takes_linear_time(monkeypatch):
    """A pipe gives 64 kB at a time; concatenating those one by one would copy 20 GB."""
    line = b"x" * (48 * MB) + b"\n"
    receiver, sender = os.pipe()
    with os.fdopen(receiver, "rb") as stdin, os.fdopen(sender, "wb") as pipe:
        monkeypatch.setattr(sys, "stdin", stdin)
        writer = threading.Thread(target=lambda: (pipe.write(line), pipe.flush()), daemon=True)
        writer.start()
        start = time.thread_time()
        assert len(next(Lines(None))) == len(line)
        assert time.thread_time() - start < 1
        writer.join()


@pytest.mark.parametrize("suffix", ["csv.gz", "jsonl.gz", "tsv"])
def test_a_line_without_an_end_is_refused(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    raw = {"csv": b"a,b\n1,2\n", "tsv": b"a\tb\n1\t2\n", "json": b'{"a": 1}\n'}[
        suffix[:4].rstrip(".l")
    ]
    raw += b" " * (4 * MAX_LINE)
    path.write_bytes(gzip.compress(raw, 1) if suffix.endswith("gz") else raw)
    n_line = raw.count(b"\n") + 1

    def refused():
        with pytest.raises(InputError, match=rf"line {n_line} is longer than 64 MB: .*split"):
            read_all(path)

    assert peak_memory(refused) < 2 * MAX_LINE


def test_the_longest_line_is_read(tmp_path):
    text = '{"a": 1, "t": "' + "x" * (MAX_LINE - 17) + '"}'
    assert len(text) == MAX_LINE
    (tmp_path / "x.jsonl").write_text(text)
    assert read_all(tmp_path / "x.jsonl", columns=Columns(texts="t")) == 1
    (tmp_path / "x.jsonl").write_text(text + " ")
    with pytest.raises(InputError, match="line 1 is longer than 64 MB"):
        read_all(tmp_path / "x.jsonl", columns=Columns(texts="t"))


@pytest.mark.parametrize("form", ["jsonl", "csv", "authors"])
def test_too_many_fields_are_refused_before_they_are_split(tmp_path, form):
    separator = "\t" if form == "authors" else ","
    text = separator.join(["10"] * (MAX_FIELDS + 1))
    (tmp_path / "x").write_text(f"[{text}]\n" if form == "jsonl" else f"{text}\n")

    def refused():
        with pytest.raises(InputError, match=r"line 1 has more than 4,194,304 fields"):
            list(open_input(str(tmp_path / "x"), form=form, has_header=False).batches(1))

    assert peak_memory(refused) < 4 * len(text)


def test_a_record_of_many_long_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "MAX_LINE", 5000)
    (tmp_path / "x.csv").write_text('t,a\nx,1\n"' + "long line\n" * 600 + '",2\n')
    with pytest.raises(InputError, match="the record at line 3 is longer than"):
        read_all(tmp_path / "x.csv", columns=Columns(texts="t"))


def test_blank_lines_before_the_first_are_not_kept(tmp_path):
    blank = b" " * MB + b"\n"
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"\n" + 80 * blank + b"a\n1\n", 1))
    assert peak_memory(lambda: open_input(str(tmp_path / "x.csv.gz"))) < 40 * MB
    (batch,) = open_input(str(tmp_path / "x.csv.gz")).batches(10)
    assert batch.place(0) == "line 83"


def test_npz_is_read_batch_by_batch(tmp_path):
    """Ids and texts too: what compresses well is not refused, but never held in memory."""
    n = 100_000
    np.savez_compressed(
        tmp_path / "x.npz", X=np.zeros((n, 100)), k=np.arange(n), t=np.zeros(n, "<U100")
    )
    assert (tmp_path / "x.npz").stat().st_size < MB
    columns = Columns(keys="k", texts="t")
    assert peak_memory(lambda: read_all(tmp_path / "x.npz", 1000, columns)) < 10 * MB


@pytest.mark.parametrize("shape", [(10**6, 10**6), (1, MAX_ROW // 8 + 1)])
def test_arrays_larger_than_their_files(tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    raw = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117).encode() + b"\n"
    (tmp_path / "x.npy").write_bytes(raw)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", raw)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(InputError, match="the array is cut short: save it again"):
            read_all(tmp_path / name)


def sparse_npy(path, shape):
    """A file of zeros that takes no room on disk."""
    np.lib.format.open_memmap(path, "w+", np.float64, shape).flush()
    return path


def test_batches_of_wide_rows_have_fewer(tmp_path):
    path = sparse_npy(tmp_path / "x.npy", (70, 10**6))
    for shuffle in (None, 1):
        sizes = [len(b.rows) for b in _first(open_input(str(path), shuffle=shuffle), 2)]
        assert sizes == [MAX_BATCH // (8 * 10**6)] * len(sizes)
    path = sparse_npy(tmp_path / "y.npy", (2, MAX_ROW // 8 + 1))
    with pytest.raises(InputError, match=r"one row takes 67,108,872 bytes.*reduce the dimension"):
        read_all(path)


def _first(source, n):
    batches = source.batches(10_000)
    return [next(batches) for _ in range(n)] if source._order is None else [next(batches)]


def test_batches_of_wide_npz_rows_have_fewer(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", X=np.zeros((5, 2)), t=np.zeros(5, "<U15000000"))
    source = open_input(str(tmp_path / "x.npz"), Columns(texts="t"))
    assert [len(batch.X) for batch in source.batches(10_000)] == [4, 1]


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.list_(pa.float64(), 10**6)])
def test_batches_of_wide_parquet_rows_have_fewer(tmp_path, kind):
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(40 * 10**6)), 10**6).cast(kind)
    pq.write_table(pa.table({"e": lists}), tmp_path / "x.parquet")
    batches = open_input(str(tmp_path / "x.parquet")).batches(10_000)
    assert len(next(batches).X) == MAX_BATCH // (8 * 10**6)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_batches_of_long_texts_have_fewer_rows(tmp_path, monkeypatch, kind):
    rows = [{"a": i, "b": -i, "t": "x" * 1000} for i in range(20)]
    if kind == "csv":
        text = "a,b,t\n" + "".join(f"{r['a']},{r['b']},{r['t']}\n" for r in rows)
    else:
        text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / f"x.{kind}").write_text(text)
    monkeypatch.setattr(records, "MAX_BATCH", 5000)
    source = open_input(str(tmp_path / f"x.{kind}"), Columns(texts="t"))
    batches = list(source.batches(10_000))
    assert [len(batch.X) for batch in batches] == [5, 5, 5, 5]
    assert np.concatenate([batch.X for batch in batches]).tolist() == [[i, -i] for i in range(20)]
    assert np.concatenate([batch.rows for batch in batches]).tolist() == list(range(20))
