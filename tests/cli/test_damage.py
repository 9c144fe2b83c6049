"""Damaged NumPy files: one clear error that says what to do, never one of Python's own."""

import zipfile

import numpy as np
import pytest

from perchtree.inputs.batches import Columns, InputError
from perchtree.inputs.opening import open_input


def read(path, columns=None):
    return [batch.X.sum() for batch in open_input(str(path), columns).batches(2)]


def spoiled(raw, stop, step=1):
    """The bytes with one of them changed, in several ways."""
    for place in range(0, stop, step):
        for value in (0, ord("-"), ord("("), ord("9"), 0xFF, raw[place] ^ 1, raw[place] ^ 0x80):
            yield raw[:place] + bytes([value]) + raw[place + 1 :]


@pytest.mark.filterwarnings("ignore")
def test_any_byte_of_an_npy_header(tmp_path, X):
    path = tmp_path / "x.npy"
    np.save(path, X)
    n_refused = 0
    for raw in spoiled(path.read_bytes(), 128):
        (tmp_path / "y.npy").write_bytes(raw)
        try:
            read(tmp_path / "y.npy")
        except InputError as error:
            n_refused += 1
            assert "save it again" in str(error) or "expected a 2-d array" in str(error)  # noqa: PT017
    assert n_refused > 200


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_any_byte_of_an_npz_file(tmp_path, save):
    save(tmp_path / "x.npz", X=np.eye(3), k=np.arange(3))
    whole = (tmp_path / "x.npz").read_bytes()
    n_refused = 0
    for raw in [*spoiled(whole, len(whole), 3), *(whole[:n] for n in range(0, len(whole), 7))]:
        (tmp_path / "y.npz").write_bytes(raw)
        try:
            read(tmp_path / "y.npz", Columns(keys="k"))
        except InputError as error:
            n_refused += 1
            assert str(error)  # noqa: PT017
    assert n_refused > 200


@pytest.mark.parametrize("header", [
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 3), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 5000 + b", 3), }",
    b"(" * 9000,
    b"{'descr': '\xff', 'fortran_order': False, 'shape': (2, 3), }",
    b"{'descr': [('a', '<f8', -1)], 'fortran_order': False, 'shape': (2, 3), }",
])  # fmt: skip
def test_headers_that_are_wrong(perch, tmp_path, header):
    raw = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n"
    (tmp_path / "x.npy").write_bytes(raw + bytes(48))
    error = perch.fails("fit", "x.npy", "-o", "t.perch")
    assert "x.npy: its header is damaged" in error
    np.savez(tmp_path / "x.npz", y=np.arange(2))
    with zipfile.ZipFile(tmp_path / "x.npz", "a") as archive:
        archive.writestr("X.npy", raw + bytes(48))
    error = perch.fails("fit", "x.npz", "-o", "t.perch")
    assert "x.npz: array 'X': its header is damaged" in error


def test_an_unknown_version(perch, tmp_path, X):
    np.save(tmp_path / "x.npy", X)
    raw = bytearray((tmp_path / "x.npy").read_bytes())
    raw[6] = 9
    (tmp_path / "x.npy").write_bytes(raw)
    assert "its header is damaged" in perch.fails("fit", "x.npy", "-o", "t.perch")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 97])
def test_other_compression(perch, tmp_path, X, method):
    np.save(tmp_path / "X.npy", X)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", method if method < 97 else 0) as archive:
        archive.write(tmp_path / "X.npy", "X.npy")
    if method == 97:  # an unknown one
        raw = bytearray((tmp_path / "x.npz").read_bytes())
        raw[raw.rindex(b"PK\x01\x02") + 10] = method
        (tmp_path / "x.npz").write_bytes(raw)
    error = perch.fails("fit", "x.npz", "-o", "t.perch")
    assert "array 'X' is compressed by another method" in error
    assert "numpy.savez_compressed" in error


def test_an_encrypted_archive(perch, tmp_path, X):
    np.savez(tmp_path / "x.npz", X=X)
    raw = bytearray((tmp_path / "x.npz").read_bytes())
    raw[raw.rindex(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "x.npz").write_bytes(raw)
    assert "array 'X' is encrypted" in perch.fails("fit", "x.npz", "-o", "t.perch")


def test_other_arrays_than_ids_and_texts(perch, tmp_path, X):
    np.savez(tmp_path / "x.npz", X=X, y=np.zeros(18, [("a", "i4"), ("b", "i4")]))
    error = perch.fails("fit", "x.npz", "-o", "t.perch", "--class", "y")
    assert "array 'y' holds" in error
    assert "expected numbers or texts" in error
    np.savez(tmp_path / "x.npz", X=X, y=np.zeros(18, "<U0"), k=np.arange(18))
    perch("fit", "x.npz", "-o", "t.perch", "--text", "y", "--id", "k")
    (tmp_path / "y.npy").write_bytes((tmp_path / "x.npz").read_bytes())
    assert "this is a .npz file" in perch.fails("fit", "y.npy", "-o", "u.perch")
