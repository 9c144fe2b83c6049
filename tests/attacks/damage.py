"""Damaged files, and what becomes of whoever opens and uses them.

As a program: `python damage.py FOLDER FIRST STOP` tries damages FIRST to STOP of every file in a
folder, mapped and not, and prints how many were refused and how many opened, as JSON.
"""

import json
import random
import resource
import sys
from pathlib import Path

import numpy as np

from crafting import checksum, crafted
from perchtree import ClusterTree, Collection, CorruptFileError, InvariantError, Perch

MOST_MEMORY = 8 * 2**30


# Damages: (content, random numbers) -> content


def flip_bits(content, rng):
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 3])):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def cut_short(content, rng):
    return content[: rng.randrange(len(content))]


def make_longer(content, rng):
    return content + rng.randbytes(rng.choice([1, 64, 1000]))


def swap_parts(content, rng):
    length = rng.choice([1, 16, 64, 256])
    one, other = sorted(rng.sample(range(0, len(content) - length, min(length, 64)), 2))
    damaged = bytearray(content)
    damaged[one : one + length] = content[other : other + length]
    damaged[other : other + length] = content[one : one + length]
    return bytes(damaged)


def flip_and_repair(content, rng):
    """Some bytes of an array are others, and its checksum fits them."""
    header, body = split(content)
    parts = [part for part in parts_of(header) if part["length"]]
    part = rng.choice(parts)
    damaged = bytearray(body)
    for _ in range(rng.choice([1, 1, 4])):
        place = part["place"] + rng.randrange(part["length"])
        damaged[place] = rng.choice([damaged[place] ^ 1 << rng.randrange(8), 0, 255])
    array = damaged[part["place"] : part["place"] + part["length"]]
    part["entry"]["checksum"] = checksum(bytes(array), content[8]).hex()
    return crafted(header, version=content[8], body=bytes(damaged))


def change_header(content, rng):
    """One value of the header is another, and the checksum fits it."""
    header, body = split(content)
    places = list(leaves_of(header))
    holder, key = rng.choice(places)
    holder[key] = another(holder[key], rng)
    return crafted(header, version=content[8], body=body)


def drop_from_header(content, rng):
    """A value of the header is missing."""
    header, body = split(content)
    holder, key = rng.choice([place for place in leaves_of(header) if isinstance(place[0], dict)])
    del holder[key]
    return crafted(header, version=content[8], body=body)


DAMAGES = [
    flip_bits, cut_short, make_longer, swap_parts, flip_and_repair, flip_and_repair, change_header,
    drop_from_header,
]  # fmt: skip


def split(content):
    """The header of a file, as JSON, and what comes after it."""
    stop = 32 + int.from_bytes(content[12:16], "little")
    return json.loads(content[32:stop].rstrip(b"\0")), content[stop:]


def parts_of(header):
    """The arrays in a header, each with its place in the body and its length."""
    place = 0
    for section in header.get("sections", {"": header}).values():
        for entry in section["arrays"]:
            length = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
            yield {"entry": entry, "place": place, "length": length}
            place += length + -length % 64


def leaves_of(value):
    """Every value in a header that holds no others: who holds it, and under which key."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(inner, dict | list) and inner:
            yield from leaves_of(inner)
        else:
            yield value, key


def another(value, rng):
    if type(value) is int:
        numbers = [value + 1, value - 1, 0, -1, 2**30, 2**31, 2**62, -(2**63), 10**30]
        return rng.choice([*numbers, None, "1", 1.5, [], {}, True])
    if type(value) is str:
        return rng.choice([value + "x", "", value[:-1], "\0", "auto", "box", None, 1, []])
    return rng.choice([0, 1, -1, True, False, "x", [1], {"a": 1}, None, 1e308])


def damaged(content, number):
    """The damage of this number: the same one in every run."""
    rng = random.Random(number)
    return DAMAGES[number % len(DAMAGES)](content, rng)


# Using what opened


def use(path, *, mapped):
    """Open a file as each kind, and do everything with it; whether it could be opened.

    Features that are only mapped may be wrong. Then what is made of them may be wrong, too, but
    places in arrays are not: nothing crashes or runs for ever.
    """
    try:
        model = Perch.load(path, mmap=mapped)
        collection = Collection.open(path, mmap=mapped)
        tree = ClusterTree.load(path, mmap=mapped)
    except CorruptFileError as error:
        if "\n" in str(error):
            raise AssertionError("a message of several lines") from error
        return False
    try:
        tree.check()
    except InvariantError:
        assert mapped
    X = np.random.default_rng(0).normal(size=(40, tree.n_features)).astype(np.float32)
    use_tree(tree, X)
    use_tree(tree.copy(), X)
    if len(collection):
        use_records(collection, model, X)
    return True


def use_tree(tree, X):
    if tree.n_points:
        tree.nearest(X[:3], k=min(2, tree.n_points))
        tree.cut(1)
        tree.cut(distance=1.0)
        tree.suggest_cuts(2)
        assert len(tree.children) == tree.n_points - 1
        assert tree.depth.max >= 0
    tree.insert(X)
    tree.insert(X[:3] + 1)
    if tree.settings.has_linkage:
        tree.refine(2)
    tree.cut(2)
    tree.nearest(X, k=3)


def use_records(collection, model, X):
    assert len(collection.keys) == len(collection)
    for column in (collection.texts, collection.classes):
        assert column is None or len(column) == len(collection)
    try:
        assert len(model.all_labels_) == len(collection)
    except ValueError as error:  # more clusters are asked for than there are leaves
        if "clusters asked of a tree" not in str(error):
            raise
        model.set_params(n_clusters=1, distance_threshold=None)
    assert model.labels_.dtype == np.int64
    assert len(model.predict(X[:2])) == 2
    assert isinstance(model.events_, list)
    keys = [f"new {i}" for i in range(len(X))]
    if collection.has_keys and collection.records.kind is int:
        keys = range(10**9, 10**9 + len(X))
    model.partial_fit(X, keys=keys if collection.has_keys else None)
    assert len(model.labels_) == len(X)


def main(folder, first, stop):
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    files = sorted(Path(folder).glob("*.perch"))
    counts = {"refused": 0, "opened": 0}
    tried = Path(folder) / f"tried-{first}"
    for number in range(first, stop):
        whole = files[number // len(DAMAGES) % len(files)]
        tried.write_bytes(damaged(whole.read_bytes(), number))
        for mapped in (False, True):
            # What goes wrong is named even if the process crashes.
            print(f"{whole.name}, damage {number}, {mapped=}", file=sys.stderr, flush=True)
            counts["opened" if use(tried, mapped=mapped) else "refused"] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
