"""Which clusters of a tree a command uses: by number, distance or minimum size, or by default."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .options import together
from .patience import patience
from .running import count

if TYPE_CHECKING:
    from ..clusters.correcting import Corrected
    from ..collection import Collection

K = click.option(
    "-k",
    "n_clusters",
    type=click.IntRange(1),
    metavar="K",
    help="Number of clusters. [default: as for `perch cut`]",
)

CHOICE = together(
    click.option(
        "--distance",
        type=click.FloatRange(0),
        metavar="T",
        help="Alternatively: cut at this height, the root mean squared distance between the two "
        "parts of a cluster (with --linkage box, the diagonal of its bounding box).",
    ),
    click.option(
        "--similarity",
        type=click.FloatRange(-1, 1),
        metavar="S",
        help="Alternatively, with --metric cosine: --distance given as a cosine similarity.",
    ),
    click.option(
        "--min-size",
        type=click.IntRange(1),
        metavar="M",
        help="Alternatively: the most persistent clusters of at least M points.",
    ),
)


ANSWERS = click.option(
    "--answers",
    type=click.Path(exists=True),
    metavar="FILE",
    help="Alternatively: the cut that best fits the answers `perch ask` wrote to FILE. If they are "
    "stored in a folder, give TREE again.",
)


CHOICES = ("distance", "similarity", "min_size", "answers")
"""Options that take the place of a number of clusters."""


def taken_from(options: dict[str, Any]) -> dict[str, Any]:
    """Those of a command's options that `choose` takes."""
    return {name: options[name] for name in (*CHOICES, "criterion")}


class Chosen(NamedTuple):
    """Clusterings by the names of their columns, and a remark on how they were chosen."""

    columns: "dict[str, Corrected]"
    remark: str | None = None


def choose(
    collection: "Collection",
    n_clusters: tuple[int, ...],
    *,
    distance: float | None,
    similarity: float | None,
    min_size: int | None,
    criterion: str | None,
    answers: str | None = None,
) -> Chosen:
    """Cut a tree as the options say, by default where clusters stand out; corrections are
    applied."""
    with patience("looking for clusters (and compiling, the first time)"):
        return _choose(collection, n_clusters, distance, similarity, min_size, criterion, answers)


def _choose(
    collection: "Collection",
    n_clusters: tuple[int, ...],
    distance: float | None,
    similarity: float | None,
    min_size: int | None,
    criterion: str | None,
    answers: str | None,
) -> Chosen:
    tree, corrected = collection.tree, collection.corrected
    given = [bool(n_clusters), *(v is not None for v in (distance, similarity, min_size, answers))]
    if sum(given) > 1:
        raise click.UsageError(
            "give only one of -k, --distance, --similarity, --min-size and --answers"
        )
    if answers is not None:
        return _calibrated(collection, answers)
    if similarity is not None:
        distance = as_distance(tree, similarity)
    if distance is not None:
        return Chosen({"cluster": corrected(tree.cut(distance=distance))})
    if min_size is not None:
        return Chosen({"cluster": corrected(tree.cut(min_cluster_size=min_size))})
    if not n_clusters:
        return Chosen({"cluster": corrected(tree.cut())}, _describe(tree.suggest_cuts(3)))
    names = ["cluster"] if len(n_clusters) == 1 else [f"cluster_{k}" for k in n_clusters]
    columns = map(corrected, tree.cut(list(n_clusters), criterion=criterion).T)
    return Chosen(dict(zip(names, columns, strict=True)))


def _calibrated(collection: "Collection", name: str) -> Chosen:
    """The best cut by the answers in a file."""
    from .answers import answers_in

    answers = answers_in(collection, name)
    try:
        found = collection.calibrate(answers.pairs, answers.same)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    doubts = [*found.doubts]
    if answers.gone:
        doubts.append(f"{count(len(answers.gone), 'answer')} about records that no longer exist")
    remark = f"chosen by {count(found.n_answers, 'answer')}: {found}"
    return Chosen(
        {"cluster": collection.corrected(found.labels)},
        "; but ".join([remark, *doubts[:1]]) + "".join(f"; {doubt}" for doubt in doubts[1:]),
    )


def as_distance(tree: Any, similarity: float) -> float:
    """The root mean squared distance of unit vectors with this mean cosine."""
    if not (tree.settings.is_cosine and tree.settings.has_linkage):
        raise click.UsageError(
            "--similarity needs a tree made with --metric cosine and a linkage: use --distance"
        )
    return math.sqrt(2 - 2 * similarity)


def _describe(suggestions: list[Any]) -> str:
    """What was chosen without options, and what to try instead."""
    first, *others = suggestions
    if not first.stands_out:
        return (
            f"no clusters stand out from data without clusters: took --min-size "
            f"{first.min_cluster_size}; try a smaller one, --distance or -k"
        )
    tries = [
        f"--min-size {other.min_cluster_size} ({count(other.n_clusters, 'cluster')})"
        for other in others
    ]
    return (
        f"took --min-size {first.min_cluster_size}: clusters stand out {first.score:.1f} "
        f"times as much as in data without clusters; or try {', '.join([*tries, '--distance, -k'])}"
    )
