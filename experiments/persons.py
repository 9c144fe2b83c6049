"""Records of people with errors, as many as one likes, from a seed.

An entity is a name, a date of birth, a town, a postcode and an occupation, made of syllables. Each
of its records has errors: letters are dropped, doubled, swapped or replaced, parts of the name are
left out or shortened, dates and postcodes vary a little, and fields are missing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_STARTS = np.array([*"bcdfghjklmnprstvw", "br", "ch", "gr", "sh", "st", "th"])
_VOWELS = np.array([*"aeiou", "ea", "oo", "ie"])
_ENDS = np.array(["", "n", "r", "s", "l", "rd", "th", "m", "ck", "nd"])
_JOBS = np.array(["farmer", "clerk", "miller", "baker", "smith", "sailor", "teacher", "poet"])
_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


class Person(NamedTuple):
    given: str
    surname: str
    born: str
    town: str
    postcode: str
    job: str


def records(n_records: int, n_entities: int, seed: int = 0) -> tuple[list[str], NDArray[np.int64]]:
    """Texts in random order, and the entity of each."""
    rng = np.random.default_rng(seed)
    names, surnames, towns = _words(rng, 400, 2), _words(rng, 20_000, 2), _words(rng, 3_000, 2)
    people = [_person(rng, names, surnames, towns) for _ in range(n_entities)]
    extra = rng.integers(0, n_entities, n_records - n_entities)
    entities = rng.permutation(np.concatenate([np.arange(n_entities), extra]))
    return [_record(rng, people[entity]) for entity in entities], entities


def _words(rng: np.random.Generator, n_words: int, n_syllables: int) -> list[str]:
    parts = [rng.choice(letters, (n_words, n_syllables)) for letters in (_STARTS, _VOWELS, _ENDS)]
    return [
        "".join("".join(s) for s in zip(*word, strict=True)) for word in zip(*parts, strict=True)
    ]


def _person(
    rng: np.random.Generator, names: list[str], surnames: list[str], towns: list[str]
) -> Person:
    a, b, c, year, month, day, job, p, q = rng.integers(
        0, [len(names), len(surnames), len(towns), 250, 12, 28, len(_JOBS), 99, 9 * 26 * 26]
    ).tolist()
    code = f"{towns[c][:2]}{p} {q // 676}{_LETTERS[q // 26 % 26]}{_LETTERS[q % 26]}"
    born = f"{1650 + year}-{month + 1:02}-{day + 1:02}"
    return Person(names[a], surnames[b], born, towns[c], code, str(_JOBS[job]))


def _record(rng: np.random.Generator, person: Person) -> str:
    kind, error, place, letter, missing = rng.integers(0, [8, 5, 64, 26, 12]).tolist()
    given, surname, born, town, postcode, job = person
    if kind == 0:
        given = given[:1]
    elif kind == 1:
        given, surname = surname, given
    elif kind == 2:
        born = born[:5] + "01-01"
    elif kind == 3:
        postcode = postcode[:-2] + str(_LETTERS[letter]) * 2
    elif kind in (4, 5):
        surname = _misspelt(surname, error, place, str(_LETTERS[letter]))
    elif kind == 6:
        town = _misspelt(town, error, place, str(_LETTERS[letter]))
    fields = [f"{given} {surname}", born, town, postcode, job]
    if missing < 4:
        fields[1 + missing] = ""
    return " | ".join(fields)


def _misspelt(word: str, error: int, place: int, letter: str) -> str:
    at = place % len(word)
    before, own, after = word[:at], word[at], word[at + 1 :]
    return (
        before
        + ["", 2 * own, letter, own + letter, after[:1] + own][error]
        + (after[1:] if error == 4 else after)
    )
