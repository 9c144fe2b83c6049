"""Settings are declared once: constructors, options, files and `repr` follow."""

import inspect
import json
import pickle
from dataclasses import FrozenInstanceError, fields

import click
import numpy as np
import pytest
from click.testing import CliRunner

from perchtree import ClusterTree, Collection, Perch
from perchtree._kernels.modes import BALANCES, LINKAGES, MASKINGS
from perchtree.cli.options import SETTINGS
from perchtree.files.container import Reader
from perchtree.settings import FIXED, RULES, USUAL, Settings

pytestmark = pytest.mark.outer

DECLARED = {field.name: field.default for field in fields(Settings)}
NAMED = [name for name, rule in RULES.items() if rule.choices]
COUNTED = [name for name in RULES if name not in NAMED and not RULES[name].is_share]

UNUSUAL = [
    {"linkage": "box", "masking": "interval", "balance": "ratio"},
    {"linkage": "box", "masking": None, "balance": None},
    {"linkage": "box", "search": "beam", "beam_width": 7, "max_leaves": 9},
    {"linkage": "ward", "graft": 3, "search": "astar", "max_leaves": 9},
    {"max_leaves": 9, "metric": "cosine", "n_jobs": -1},
]


def own_parameters(kind):
    return {
        name: parameter.default
        for name, parameter in inspect.signature(kind).parameters.items()
        if name
        not in (
            "n_features",
            "n_clusters",
            "distance_threshold",
            "min_cluster_size",
            "verbose",
            "encoder",
        )
    }


@pytest.mark.parametrize("kind", [ClusterTree, Perch, Collection])
def test_constructors_take_what_is_declared(kind):
    assert own_parameters(kind) == DECLARED


def test_estimators_have_settings_as_parameters():
    parameters = Perch().get_params()
    own = {"n_clusters": None, "distance_threshold": None, "min_cluster_size": None, "verbose": 0}
    assert parameters == DECLARED | own


def test_defaults():
    assert Settings() == USUAL
    assert USUAL.as_dict() == DECLARED
    assert USUAL.unusual() == {}
    assert Settings.of({}) == USUAL
    assert tuple(DECLARED) == (*FIXED, "n_jobs")


def test_choices_are_those_that_kernels_know():
    assert set(RULES["linkage"].choices) == {*LINKAGES, "box", "neighbors"}
    assert set(RULES["masking"].choices) == set(MASKINGS)
    assert set(RULES["balance"].choices) == set(BALANCES)


@pytest.mark.parametrize("name", NAMED)
def test_choices(name):
    # Rules about boxes may only be set in a tree that goes by boxes.
    with_boxes = {"linkage": "box"} if name in ("masking", "balance") else {}
    for choice in RULES[name].choices:
        assert getattr(Settings.of({**with_boxes, name: choice}), name) == choice
    for wrong in ("nonsense", 3, "", *([] if None in RULES[name].choices else [None])):
        with pytest.raises(ValueError, match=f"{name} must be one of '.*, got"):
            Settings.of({name: wrong})


@pytest.mark.parametrize("name", COUNTED)
def test_counts(name):
    rule = RULES[name]
    least = 1 if rule.least is None else rule.least
    value = getattr(Settings.of({name: np.int32(least)}), name)
    assert value == least
    assert type(value) is int
    for wrong in (1.5, True, "2", np.float64(2)):
        with pytest.raises(TypeError, match=f"{name} must be a whole number, got"):
            Settings.of({name: wrong})
    if rule.least is not None:
        with pytest.raises(ValueError, match=f"{name} must be at least {rule.least}"):
            Settings.of({name: rule.least - 1})
    if rule.most is not None:
        assert getattr(Settings.of({name: rule.most}), name) == rule.most
        with pytest.raises(ValueError, match=f"{name} must be at most {rule.most:,}"):
            Settings.of({name: rule.most + 1})
    if rule.optional:
        assert getattr(Settings.of({name: None}), name) is None
    else:
        with pytest.raises(TypeError, match=f"{name} must be a whole number, got None"):
            Settings.of({name: None})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_jobs": 0}, "n_jobs must not be 0: give a number of threads, or -1"),
        ({"linkage": "box", "masking": "exact", "max_leaves": 5}, "leave out max_leaves"),
        ({"masking": None}, "leave them out with linkage='average'"),
        ({"linkage": "ward", "balance": "ratio"}, "leave them out with linkage='ward'"),
    ],
)
def test_what_does_not_go_together(given, message):
    for make in (Settings.of, lambda own: ClusterTree(2, **own), lambda own: Collection(**own)):
        with pytest.raises(ValueError, match=message):
            make(given)
    with pytest.raises(ValueError, match=message):
        Perch(**given).fit([[0.0], [1.0]])


@pytest.mark.parametrize(
    "make", [Settings.of, lambda own: ClusterTree(2, **own), lambda own: Collection(**own),
             lambda own: Perch(**own)],
)  # fmt: skip
def test_unknown_names_get_a_hint(make):
    with pytest.raises(TypeError, match="no setting 'linkge': did you mean 'linkage'"):
        make({"linkge": "ward"})
    with pytest.raises(TypeError, match=r"there is no setting 'zzz'$"):
        make({"zzz": 1})


@pytest.mark.parametrize("given", UNUSUAL)
def test_settings_are_shown_kept_and_compared(given, tmp_path):
    tree, records = ClusterTree(2, **given), Collection(**given)
    assert tree.settings == records.settings == Settings(**given) != USUAL
    assert tree.settings.unusual() == given
    shown = ", ".join(f"{name}={given[name]!r}" for name in DECLARED if name in given)
    assert repr(tree) == f"<ClusterTree(n_features=2, {shown}): 0 points in 0 leaves>"
    assert repr(records) == f"<Collection({shown}): 0 records>"
    for name in DECLARED:
        assert getattr(tree, name) == given.get(name, DECLARED[name])
    assert json.loads(json.dumps(tree.settings.as_dict())) == tree.settings.as_dict()

    X = np.random.default_rng(0).random((12, 2))
    tree.insert(X)
    records.add(X)
    path = tmp_path / "tree.perch"
    for made, load in ((tree, ClusterTree.load), (records, Collection.open)):
        made.save(path)
        assert Reader(path).meta("tree")["settings"] == DECLARED | given
        assert load(path).settings == pickle.loads(pickle.dumps(made)).settings == made.settings
    assert Perch.load(path).get_params() == Perch(**given).get_params()


@pytest.mark.parametrize("given", UNUSUAL)
def test_settings_are_options_of_the_command_line(given):
    seen = {}

    @click.command()
    @SETTINGS
    def command(**options):
        seen.update({name: value for name, value in options.items() if value is not None})

    assert [option.name for option in command.params] == list(DECLARED)
    for option in command.params:
        choices = [choice or "none" for choice in RULES[option.name].choices]
        assert list(getattr(option.type, "choices", [])) == choices
        assert RULES[option.name].help in option.help
    arguments = [
        part
        for name, value in given.items()
        for part in ("--" + name.replace("_", "-"), "none" if value is None else str(value))
    ]
    assert CliRunner().invoke(command, arguments).exit_code == 0
    expected = {name: "none" if value is None else value for name, value in given.items()}
    assert seen == expected


def test_only_the_number_of_threads_can_be_changed():
    settings = Settings(linkage="ward")
    assert settings.changed(n_jobs=3) == Settings(linkage="ward", n_jobs=3)
    with pytest.raises(FrozenInstanceError):
        settings.n_jobs = 3
    tree = ClusterTree(2)
    for name in (*FIXED, "n_features", "settings"):
        with pytest.raises(AttributeError, match=f"{name} is fixed when a tree is made"):
            setattr(tree, name, getattr(tree, name))
    tree.n_jobs = 2
    assert tree.n_jobs == tree.settings.n_jobs == tree._search.n_jobs == 2
    for wrong in (0, 1.5):
        with pytest.raises((TypeError, ValueError), match="n_jobs must"):
            tree.n_jobs = wrong
    assert tree.n_jobs == 2


def test_what_follows_from_settings():
    assert USUAL.has_linkage
    assert not Settings(linkage="box").has_linkage
    assert not USUAL.collapses
    assert Settings(max_leaves=3).collapses
    assert [Settings(graft=graft).neighbors for graft in (0, 1, 4)] == [1, 1, 4]
    assert Settings(linkage="box", graft=4).neighbors == 1
