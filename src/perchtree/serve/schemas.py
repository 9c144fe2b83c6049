"""The shapes of requests and answers, which /openapi.json tells."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from .handles import PATTERN
from .limits import Limits

_L = Limits()

Finite = Annotated[float, Field(allow_inf_nan=False)]
Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Key = Annotated[str, Field(max_length=_L.key_length)] | Number
Text = Annotated[str, Field(max_length=_L.text_length)]
Class = Text | Number | Finite
Vector = Annotated[list[Finite], Field(min_length=1, max_length=_L.dimensions)]
ClusterId = int | Annotated[str, Field(pattern=PATTERN)]
"""A number of the standing clustering, or a handle of a cluster of another one."""


class Given(BaseModel):
    """A part of a request: nothing is converted, nothing unknown is ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Record(Given):
    """A record to be stored under a key that the path names."""

    vector: Vector | None = None
    text: Text | None = None
    class_: Class | None = Field(default=None, alias="class")


class Point(Record):
    """A record with its key."""

    key: Key | None = None


Points = Annotated[list[Point], Field(min_length=1, max_length=_L.rows)]


class Rows(Given):
    """New points that are asked about: vectors, or texts where the collection has an encoder."""

    vectors: Annotated[list[Vector], Field(max_length=_L.asked_rows)] | None = None
    texts: Annotated[list[Text], Field(max_length=_L.asked_rows)] | None = None


class NearestRows(Rows):
    k: Annotated[int, Field(ge=1, le=_L.neighbors)] = 1


class Keys(Given):
    keys: Annotated[list[Key], Field(min_length=1, max_length=_L.rows)]
    missing_ok: bool = False


class Pair(Given):
    a: Key
    b: Key


class Answer(Pair):
    """What somebody says about two records: the same, not the same, or null for "cannot tell"."""

    same: bool | None


Answers = Annotated[list[Answer], Field(min_length=1, max_length=1000)]


class Said(Pair):
    """A correction: the two belong together, or apart, or nothing is said about them any longer."""

    kind: Annotated[str, Field(pattern="^(together|apart|neither)$")]


# Answers


class Told(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)


class Error(Told):
    model_config = ConfigDict(extra="allow")
    error: str = Field(description="One line that says what is wrong, and what to do.")


class Placed(Told):
    key: Any
    cluster: ClusterId | None = Field(description="null if no standing clustering is kept")


class Added(Told):
    operation: int = Field(description="Everything up to this operation is on the disk.")
    added: int
    unchanged: int = Field(description="Records that were there already, exactly so.")
    points: list[Placed]


class Stored(Told):
    operation: int
    cluster: ClusterId | None
    created: bool


class Removed(Told):
    operation: int
    removed: int


class Node(Told):
    node: str = Field(description="A handle for /v1/tree/{node}.")
    size: int
    height: float


class Shown(Told):
    """A record as lists show it."""

    key: Any
    text: str | None = None
    class_: Any = Field(default=None, alias="class")
    cluster: ClusterId | None = None


class Found(Shown):
    """A record with its place in the tree, as it was at `version`; null if it is newer."""

    confidence: float | None = None
    path: list[Node] | None = None
    vector: list[float] | None = None
    operation: int
    version: int | None = Field(
        default=None, description="The operation that confidence and path are of."
    )


class FoundSeveral(Told):
    points: list[Shown]
    missing: list[Any]


class Neighbor(Told):
    key: Any
    distance: float


class Nearest(Told):
    neighbors: list[list[Neighbor]]


class Predicted(Told):
    cluster: ClusterId | None
    nearest: Any
    distance: float


class Predictions(Told):
    predictions: list[Predicted]


class Cut(Told):
    """How a clustering was asked for, and of which state of the tree it is."""

    by: str = Field(description="standing, k, min_size or threshold")
    value: float | None
    operation: int
    event: int | None = Field(
        default=None, description="The last event of the standing clustering."
    )
    n_clusters: int
    n_points: int


class Cluster(Told):
    cluster: ClusterId
    size: int
    cohesion: float | None = Field(default=None, description="Mean confidence, from 0 to 1.")
    exemplar: Shown | None = None
    keywords: list[str] = []


class Clusters(Told):
    clustering: Cut
    clusters: list[Cluster]
    next: str | None = Field(description="`after` of the next page; null on the last one.")


class Member(Shown):
    confidence: float | None = None


class OneCluster(Cluster):
    clustering: Cut
    members: list[Member]
    next: str | None


class TreeNode(Node):
    parent: int | None = Field(description="Place of the parent in this list; null at the top.")
    cut_off: bool = Field(description="Whether it has parts that are not in this list.")
    exemplar: Shown | None = None


class Subtree(Told):
    operation: int
    nodes: list[TreeNode]
    above: list[Node] = Field(description="The path from here to the root.")


class Hits(Told):
    n: int = Field(description="Hits in this answer.")
    hits: list[Shown]


class Question(Told):
    a: Shown
    b: Shown


class Questions(Told):
    operation: int
    n_answers: int
    questions: list[Question]


class Spread(Told):
    value: float
    low: float
    high: float


class Calibrated(Told):
    """What the answers so far say about the best clustering."""

    operation: int
    n_answers: int
    by: str
    value: float
    criterion: str | None
    n_clusters: int
    precision: Spread
    recall: Spread
    f1: Spread
    confidence: float
    doubts: list[str]


class Answered(Told):
    operation: int
    n_answers: int


class Correction(Told):
    kind: str
    a: Any
    b: Any


class Corrections(Told):
    operation: int
    corrections: list[Correction]


class Event(Told):
    event: int
    time: float | None = Field(
        default=None, description="By when it had happened, in seconds since 1970; null: unknown."
    )
    kind: str = Field(description="birth, merge, split, end, join, move or leave")
    before: list[int]
    after: list[int]
    points: int
    keys: list[Any] = Field(description="Records that were born, joined or moved.")


class Events(Told):
    last: int
    events: list[Event]


class Info(Told):
    version: str
    points: int
    features: int | None
    keys: str = Field(description='"text", "number", or "none": then ids are the keys')
    encoder: str | None
    operation: int
    event: int | None
    standing: float | None = Field(description="Threshold of the standing clustering.")
    clusters: int | None
    writable: bool


class State(Told):
    status: str


# The explorer


class Explorer(Told):
    title: str = Field(description="The name of the collection's folder, without its ending.")
    version: int | None = Field(description="The operation of the tree that pictures are made of.")
    age: float = Field(description="Seconds since that tree was what the collection is.")
    may_change: bool = Field(description="Whether the token of this request may change something.")
    corrections: int
    thresholds: list[float] = Field(description="At which there are about 2, 5, 10, ... clusters.")


class BoxesInView(Told):
    """Boxes, column by column: `start`, `size`, `level` and `order`, the smallest id as `first`,
    the `cluster` it lies in with its smallest id as `of`, and where that ends (`edges`: 1 at the
    left, 2 at the right, 4 on top)."""

    operation: int
    points: int
    left: int
    n_clusters: int
    columns: dict[str, list[Any]]


class Exemplar(Told):
    id: int
    key: Any
    text: str | None


class Name(Told):
    keywords: list[str]
    exemplar: Exemplar | None


class Names(Told):
    names: list[Name]


class Drawn(Told):
    """A box: where it is drawn."""

    first: int
    order: int
    start: int
    size: int
    level: int
    height: float


class Path(Told):
    boxes: list[Drawn]


class ClassCount(Told):
    name: str
    number: int | None = None
    size: int


class Box(Drawn, Name):
    classes: list[ClassCount] = Field(description="Of some of its records, evenly spread.")


class Row(Told):
    """A record with its cluster and its place in the tree; null if it is newer than that."""

    id: int
    key: Any
    text: str | None = None
    class_: Any = Field(default=None, alias="class")
    cluster: int | None = None
    of: int | None = Field(default=None, description="The smallest id in its cluster.")
    position: int | None = None
    confidence: float | None = None
    level: int | None = None


class RowsInOrder(Told):
    total: int
    rows: list[Row]


class FoundInOrder(RowsInOrder):
    more: bool = Field(description="Whether there are more than are counted.")
    searched: int
    of: int


class ClusterRow(Name):
    number: int | None
    of: int
    size: int
    start: int = Field(description="Where its first part begins, and how many points that has.")
    span: int
    cohesion: float


class ClusterRows(Told):
    operation: int
    total: int
    n_clusters: int
    more: bool = Field(description="Whether more records than were looked at have the words.")
    rows: list[ClusterRow]


class SaidOf(Told):
    kind: str
    a: Row
    b: Row


class ClusterOf(ClusterRow):
    classes: list[ClassCount] = Field(description="Of some of its records, evenly spread.")
    said: list[SaidOf]
    changes: list[Event] | None = Field(description="Of standing clusters, the newest first.")


class Numbered(Told):
    number: int
    of: int


class Since(Told):
    total: int
    known: bool = Field(description="Whether it was noted which events were there by that time.")
    noted_from: float | None = Field(description="Since when it is noted; null: not yet.")
    counted: int = Field(description="Events that are counted by kind, the newest.")
    counts: dict[str, int] = Field(description="Events of each kind.")
    records: dict[str, int] = Field(description="Records that events of each kind are about.")
    events: list[Event] = Field(description="The newest, of the kind that was asked for.")
