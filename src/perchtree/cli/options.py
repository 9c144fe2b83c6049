"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from ..inputs import FORMATS
from ..settings import RULES, USUAL, Rule

if TYPE_CHECKING:
    from ..inputs.batches import Columns, Source

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

DEFAULT_BATCH = 10_000


class TreePath(click.Path):
    """A tree's file, or the folder that keeps it."""

    def __init__(self) -> None:
        super().__init__(exists=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = str(super().convert(value, param, ctx))
        if Path(path).is_dir() and not path.rstrip("/\\").endswith(FOLDER):
            self.fail(f"{path!r} is a directory, and none of the name NAME{FOLDER}.", param, ctx)
        return path


FOLDER = ".perchdb"
"""How names of folders end that keep a tree; any other name is that of a file."""

TREE = click.argument("tree", type=TreePath())
INPUT = click.argument("input")
NEW_TREE = click.option(
    "-o",
    "--output",
    required=True,
    metavar="TREE",
    help="The new tree: a file, or a folder NAME.perchdb.",
)
FORCE = click.option("--force", is_flag=True, help="Replace the output if it exists.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="Print neither progress nor a summary.")
CRITERION = click.option(
    "--criterion",
    type=click.Choice(["cost", "diameter", "height", "pooled", "size", "blend", "scatter", "ward"]),
    help="With -k: how to choose the nodes that become clusters; see docs/cuts.md. [default: "
    "blend, or pooled if its clusters stand out much more]",
)


def check_table(output: str | None, force: bool, inputs: list[str]) -> None:
    """Reject a table that cannot or must not be written; none, or standard output, is fine."""
    from ..outputs import SUFFIXES, check_output

    if output not in (None, "-"):
        check_output(str(output), SUFFIXES, force=force, inputs=inputs)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def taken(kind: Callable[..., T], options: dict[str, Any]) -> T:
    """The options of a command that belong to a class, as one of it; they are taken out."""
    return kind(**{name: options.pop(name) for name in kind.__annotations__})


def setting_option(name: str, rule: Rule) -> Callable[[F], F]:
    """The option for a setting; one that is not given is None."""
    usual = getattr(USUAL, name)
    default = f" [default: {usual}]" if usual is not None else ""
    kind: Any = click.INT if rule.least is None else click.IntRange(rule.least)
    if rule.is_share:
        kind = click.FloatRange(0, 1, min_open=True)
    if rule.choices:
        kind = click.Choice([choice or "none" for choice in rule.choices])
    flag = "--" + name.replace("_", "-")
    return click.option(flag, name, type=kind, help=rule.help + default)


SETTINGS = together(*(setting_option(name, RULES[name]) for name in RULES))
"""An option for every setting of a tree."""

N_JOBS = setting_option("n_jobs", RULES["n_jobs"])


INPUT_COLUMNS = together(
    click.option(
        "--features",
        multiple=True,
        metavar="NAMES",
        help="Feature columns, or one column of lists: names or patterns such as 'f*', separated "
        "by commas. [default: all columns not named by the options below]",
    ),
    click.option(
        "--id",
        "id_",
        metavar="NAME",
        help="The column with your own ids, which are used in all output.",
    ),
    click.option(
        "--class",
        "class_",
        metavar="NAME",
        help="The column with the true classes, used by `score` and in plots.",
    ),
    click.option(
        "--text",
        multiple=True,
        metavar="NAME",
        help="A column with text; if given several times, the texts of a row are joined. Without "
        "feature columns, vectors are made from the text.",
    ),
    click.option(
        "--encode",
        metavar="ENCODER",
        help="How to turn texts into vectors: auto, chars, words (words:512 for 512 dimensions), "
        "wordllama, model2vec:NAME, sentence-transformers:NAME or module:object; see "
        "docs/text.md. [default: the encoder of TREE, or auto if there are no features]",
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        help="The format of INPUT. [default: guessed from its name or first line]",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line of a CSV or TSV file is a header. Without one, columns are "
        "named c1, c2, ...",
    ),
    click.option(
        "--batch",
        default=DEFAULT_BATCH,
        show_default=True,
        type=click.IntRange(1),
        metavar="N",
        help="Rows of the input to hold in memory at a time.",
    ),
    click.option(
        "--skip-bad",
        is_flag=True,
        help="Skip and count unusable rows instead of stopping at the first one.",
    ),
)

COMPRESS = click.option(
    "--compress/--no-compress",
    default=None,
    help="Whether to compress the file, for an archive; not a folder. Needs perchtree[zstd]; see "
    "docs/files.md. [default: as it was]",
)

GROWING_NAMES = ("shuffle", "skip_rows", "checkpoint", "ray", "work", "compress")

GROWING = together(
    click.option(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="Insert rows in random order (.npy files only; across all files of a folder). Ids are "
        "row numbers.",
    ),
    click.option(
        "--skip-rows",
        default=0,
        type=click.IntRange(0),
        metavar="N",
        help="Skip the first N rows, to continue after an interruption.",
    ),
    click.option(
        "--checkpoint",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="Save the tree every SECONDS seconds.",
    ),
    click.option(
        "--ray",
        metavar="ADDRESS",
        help="Search on a Ray cluster: auto for a running one, HOST:PORT, or local to start one on "
        "this machine; see docs/scale.md. The tree is the same.",
    ),
    click.option(
        "--work",
        metavar="FOLDER",
        help="With --ray: a folder that all machines can reach, for intermediate results. "
        "[default: TREE.work]",
    ),
    COMPRESS,
)


class Reading(NamedTuple):
    """How an input is to be read: the values of `INPUT_COLUMNS`."""

    features: tuple[str, ...]
    id_: str | None
    class_: str | None
    text: tuple[str, ...]
    encode: str | None
    form: str | None
    header: bool | None
    batch: int
    skip_bad: bool

    def columns(
        self, known_features: "list[str] | None" = None, *, only_texts: bool = False
    ) -> "Columns":
        from ..inputs.batches import Columns

        if self.encode is not None and self.features:
            raise click.UsageError("give --features or --encode, not both")
        if self.encode is not None and not self.text:
            raise click.UsageError("--encode makes vectors of texts: name their column by --text")
        features = tuple(name for given in self.features for name in given.split(",") if name)
        known = tuple(known_features or ())
        return Columns(
            features, self.id_, self.class_, self.text, known,
            only_texts or self.encode is not None,
        )  # fmt: skip

    def open(
        self,
        name: str,
        shuffle: int | None = None,
        known_features: "list[str] | None" = None,
        *,
        only_texts: bool = False,
    ) -> "Source":
        """Open it; features that a tree already knows by name are found by name."""
        from ..inputs.opening import open_input

        return open_input(
            name,
            self.columns(known_features, only_texts=only_texts),
            form=self.form,
            has_header=self.header,
            shuffle=shuffle,
        )

    def as_options(self) -> list[str]:
        """The options that were given, to be given again."""
        named = {"--id": self.id_, "--class": self.class_, "--encode": self.encode,
                 "--format": self.form}  # fmt: skip
        options = [part for name in self.features for part in ("--features", name)]
        options += [part for name in self.text for part in ("--text", name)]
        options += [part for flag, name in named.items() if name for part in (flag, name)]
        if self.header is not None:
            options.append("--header" if self.header else "--no-header")
        if self.batch != DEFAULT_BATCH:
            options += ["--batch", str(self.batch)]
        return options + ["--skip-bad"] * self.skip_bad

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> "Reading":
        return taken(cls, options)
