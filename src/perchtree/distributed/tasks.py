"""What workers do: pure functions of files, each of which leaves a part behind.

Any of them may run twice, anywhere, at the same time: the part is the same.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validate import as_points
from ..encode.interface import Encoder, encode_texts, plain_texts
from ..inputs.batches import Batch, InputError, Ranged
from ..search.axes import find_axes
from ..search.exact import AHEAD_ROWS
from ..search.images import SMALLEST_SAMPLED, make_space
from ..search.products import Nearest, Points, scan
from ..search.scanning import MANY_ROWS, is_poor
from .holding import Block, Held, save_axes
from .job import Job
from .parts import as_bytes, load_part, save_part

SAMPLE = 2**15
"""Rows among which neighbours of a few are looked for, to see on which axes rows differ."""


def read_blocks(job: Job, source: Ranged, encoder: Encoder | None, blocks: range) -> None:
    """Read rows of the input, check and encode them: a part for each block."""
    for block in blocks:
        rows = job.rows_of(block)
        batches = source.between(rows.start, rows.stop, len(rows))
        read = [_as_points(job, encoder, batch) for batch in batches]
        points = np.concatenate([batch.X for batch in read])
        numbers = np.concatenate([batch.rows for batch in read]) + job.first_number
        companions = {
            kind: [value for batch in read for value in batch.companions[kind]]
            for kind in read[0].companions
        }
        save_rows(job, block, points, numbers, companions, [b for batch in read for b in batch.bad])


def _as_points(job: Job, encoder: Encoder | None, batch: Batch) -> Batch:
    """The batch with vectors as they are in a tree, without rows that no tree can take."""
    if encoder is not None:
        batch = batch._replace(X=encode_texts(encoder, plain_texts(batch.companions["texts"])))
    elif len(batch.X) and batch.X.shape[1] != job.n_features:
        raise InputError(
            f"{job.input.name}: {batch.place(int(batch.rows[0]))} has {batch.X.shape[1]} features, "
            f"the first rows have {job.n_features}"
        )
    batch = batch.checked(cosine=job.cosine)
    return batch._replace(X=as_points(batch.X, cosine=job.cosine and len(batch.X) > 0))


def save_rows(
    job: Job,
    block: int,
    points: NDArray[np.float32],
    numbers: NDArray[Any],
    companions: dict[str, list[Any]],
    bad: list[Any],
) -> None:
    """Write the rows of a block as all tasks read them."""
    arrays: dict[str, NDArray[Any]] = {
        "rows": points,
        "numbers": numbers.astype(np.int32),
        "hashes": hash_rows(points),
        "companions": as_bytes(companions),
        "bad": as_bytes(bad),
    }
    save_part(job.rows_path(block), arrays)


def hash_rows(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """For each row 128 bits, by which equal rows are recognised."""
    whole = np.ascontiguousarray(rows + np.float32(0))  # -0.0 equals 0.0
    digests = b"".join(hashlib.blake2b(row, digest_size=16).digest() for row in whole)
    return np.frombuffer(digests, "<u8").reshape(-1, 2)


def find_copies(job: Job) -> None:
    """Which rows equal an earlier one, the first of which has a leaf for all of them."""
    blocks = range(-job.n_base, job.n_blocks)
    parts = [load_part(job.rows_path(block), ("numbers", "hashes"))[1] for block in blocks]
    numbers = np.concatenate([part["numbers"] for part in parts])
    hashes = np.concatenate([part["hashes"] for part in parts])
    order = np.lexsort((numbers, hashes[:, 1], hashes[:, 0]))
    same = (hashes[order[1:]] == hashes[order[:-1]]).all(axis=1)
    starts = np.concatenate([[True], ~same])
    first = numbers[order][np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))]
    copies = numbers[order][~starts]
    ascending = np.argsort(copies)
    save_part(job.copies_path, {"copies": copies[ascending], "first": first[~starts][ascending]})


def find_shared_axes(job: Job) -> None:
    """Principal axes of a sample of all rows; none, where comparing all features costs less."""
    blocks = range(-job.n_base, job.n_blocks)
    share, n_rows = -(-SAMPLE // len(blocks)), 0
    sample = np.empty((share * len(blocks), 0), np.float32)
    lower, upper = [], []
    for block in blocks:
        rows = load_part(job.rows_path(block), ("rows",))[1]["rows"]
        if len(rows):
            if sample.shape[1] == 0:
                sample = np.empty((len(sample), rows.shape[1]), np.float32)
            picked = rows[:: -(-len(rows) // share)]
            sample[n_rows : n_rows + len(picked)] = picked
            n_rows += len(picked)
            lower.append(rows.min(axis=0))
            upper.append(rows.max(axis=0))
    axes = None
    # As on one machine: with fewer points axes are not worth their cost.
    if n_rows >= SMALLEST_SAMPLED:
        bounds = np.stack([np.min(lower, axis=0), np.max(upper, axis=0)])
        points = Points(sample[:n_rows], np.arange(n_rows, dtype=np.int32))
        axes = find_axes(points, bounds, job.k, AHEAD_ROWS)
    save_part(job.axes_path, save_axes(axes))


def search_blocks(job: Job, held: Held, block: int, span: range) -> None:
    """The k nearest rows of each row of a block that has a leaf of its own, in other blocks.

    Where the span ends with the block itself, each row is compared with those before it.
    """
    queries = held.block(block)
    answers = Nearest.unknown(len(queries.points.rows), job.k)
    total, n_pairs = np.zeros(2, np.int64), 0
    for other in span[::-1]:  # the newest first: bounds are tight at once
        if other == block:
            total += _scan(queries, queries, held, answers, earlier=True)
            n_pairs += len(answers.ids) * (len(answers.ids) - 1) // 2
        else:
            points = held.block(other)
            total += _scan(queries, points, held, answers)
            n_pairs += len(answers.ids) * len(points.points.ids)
    # Where little was compared bounds stay loose, which says nothing about later tasks.
    longest = min(job.task_blocks, job.n_base + job.n_blocks)
    is_telling = len(answers.ids) >= MANY_ROWS and 2 * len(span) >= longest
    if held.axes is not None and is_telling and is_poor(held.axes, n_pairs, total):
        held.give_up_axes()
    arrays = {"near": answers.near, "numbers": answers.ids}
    save_part(job.found_path(block, span), arrays, n_pairs=n_pairs, computed=int(total[1]))


def _scan(
    queries: Block, points: Block, held: Held, answers: Nearest, *, earlier: bool = False
) -> NDArray[np.int64]:
    if len(queries.points.rows) == 0 or len(points.points.rows) == 0:
        return np.zeros(2, np.int64)
    space = make_space(
        held.axes, queries.points.rows, queries.image, points.points.rows, points.image,
        points.bounds,
    )  # fmt: skip
    return scan(queries.points.rows, points.points, space, answers, 1, earlier=earlier)
