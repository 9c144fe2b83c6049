"""Sample tables, generated from a seed: the tutorials use them.

Each has the true answer in its last column, so that a result can be scored.
"""

from collections.abc import Callable
from random import Random

Table = dict[str, list[str]]
"""Columns by name, all equally long."""

_GIVEN = {
    "Elizabeth": "Liz", "William": "Bill", "Katherine": "Kate", "Robert": "Bob", "Margaret": "Meg",
    "Anthony": "Tony", "Christina": "Tina", "Michael": "Mike", "Alexandra": "Alex",
    "Benjamin": "Ben", "Josephine": "Jo", "Frederick": "Fred", "Susanna": "Sue", "Daniel": "Dan",
    "Theodora": "Dora", "Nicholas": "Nick", "Rebecca": "Becky", "Samuel": "Sam",
}  # fmt: skip
"""Given names, and what they are called for short."""
_SURNAMES = (
    "Abernathy", "Barlow", "Castellano", "Dunning", "Eastwood", "Fairchild", "Gallagher",
    "Hathaway", "Iverson", "Jankowski", "Kaplan", "Lindqvist", "Macdonald", "Nakamura",
    "Okafor", "Pemberton", "Quigley", "Robertson", "Schneider", "Thornton", "Underhill",
    "Vasquez", "Whitaker", "Yamamoto", "Zimmermann", "Ashworth", "Brennan", "Chaudhry",
    "Delacroix", "Ellsworth",
)  # fmt: skip
_TOWNS = (
    "Ashford", "Bridgewater", "Chesterfield", "Darlington", "Evesham", "Falmouth",
    "Glastonbury", "Harrogate", "Ipswich", "Kendal", "Launceston", "Maidstone", "Northampton",
    "Oswestry", "Penzance",
)  # fmt: skip
_STREETS = (
    "Church", "High", "Mill", "Station", "Victoria", "Albert", "Chapel", "Meadow", "Orchard",
    "Windmill", "Castle", "Bridge",
)  # fmt: skip

_QUESTIONS = {
    "order status": (
        "where is my {thing}", "when will my {thing} arrive", "track the delivery of my {thing}",
        "has my {thing} been shipped yet", "my {thing} was due yesterday, where is the delivery",
    ),
    "returns": (
        "how do I return a {thing}", "I want to send back the {thing} for a refund",
        "what is the return policy for a {thing}", "can I return an opened {thing}",
        "refund for the {thing} I returned",
    ),
    "damage": (
        "my {thing} arrived broken", "the {thing} is damaged and does not switch on",
        "the {thing} came with a broken screen", "broken {thing}, who pays for the repair",
        "the {thing} was damaged in the box",
    ),
    "invoices": (
        "I need an invoice for my {thing}", "please send the invoice of the {thing} again",
        "the invoice for the {thing} has the wrong address",
        "invoice with VAT number for a {thing}",
        "can I download the invoice for my {thing}",
    ),
    "passwords": (
        "I forgot my password", "reset the password of my account",
        "password reset mail never came", "I cannot log in to my account with the new password",
        "how do I change my account password",
    ),
    "discounts": (
        "does the discount code work for a {thing}", "my discount code is not accepted",
        "is there a student discount on the {thing}", "discount code for newsletter subscribers",
        "when is the next discount on a {thing}",
    ),
    "stock": (
        "is the {thing} in stock", "when is the {thing} back in stock",
        "how many of the {thing} are in stock in the shop", "the {thing} is out of stock again",
        "notify me when the {thing} is in stock",
    ),
    "opening hours": (
        "what are your opening hours", "is the shop open on Sunday", "opening hours on holidays",
        "until when is the shop open today", "when does the shop open in the morning",
    ),
}  # fmt: skip
_THINGS = (
    "phone", "laptop", "camera", "headset", "printer", "monitor", "tablet", "keyboard",
    "router", "speaker", "lamp", "toaster", "kettle", "blender", "vacuum", "watch",
)  # fmt: skip
_POLITE = ("", "", "", "hello, ", "please help: ", "hi, ", "quick question: ")
_CLOSING = ("", "", "", " please", " thanks", " urgent")

_MESSAGES = {
    "disk": (
        "disk {n} on host {host} is {p} percent full", "disk usage high on {host}, {p} percent",
    ),
    "login": ("failed login for user {user} from {host}", "user {user} failed to log in on {host}"),
    "timeout": ("request to {host} timed out after {n} seconds", "timeout calling service {host}"),
    "backup": ("backup of {host} finished in {n} minutes", "backup on {host} completed, {p} files"),
    "certificate": (
        "certificate of {host} expires in {n} days", "TLS certificate for {host} expires soon",
    ),
}  # fmt: skip
_LATE = "certificate"
"""The kind of message that is only seen in the second half of a stream."""
_HOSTS = ("web-1", "web-2", "db-1", "db-2", "mail", "cache", "queue", "search")
_USERS = ("anna", "bob", "carol", "dave", "erin", "frank")


def make_people(n_rows: int, seed: int) -> Table:
    """Records of people with typing errors, nicknames and missing fields, about three of each."""
    random = Random(seed)
    people = [_person(random) for _ in range(max(1, n_rows // 3))]
    table: Table = {name: [] for name in ("id", "name", "born", "address", "person")}
    for row in range(n_rows):
        number = row if row < len(people) else random.randrange(len(people))
        name, born, address = _misspelt_person(random, *people[number])
        values = (f"r{row:04}", name, born, address, f"p{number:04}")
        for column, value in zip(table.values(), values, strict=True):
            column.append(value)
    return _shuffled(random, table)


def _person(random: Random) -> tuple[str, str, str, str]:
    born = f"{random.randint(1930, 2005)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
    street = f"{random.randint(1, 120)} {random.choice(_STREETS)} Street"
    return (
        random.choice(list(_GIVEN)), random.choice(_SURNAMES), born,
        f"{street}, {random.choice(_TOWNS)}",
    )  # fmt: skip


def _misspelt_person(
    random: Random, given: str, surname: str, born: str, address: str
) -> tuple[str, str, str]:
    error = random.randrange(8)
    if error == 0:
        given = _GIVEN[given]
    elif error == 1:
        surname = _misspelt(random, surname)
    elif error == 2:
        address = address.replace("Street", "St")
    elif error == 3:
        born = ""
    elif error == 4:
        return f"{surname}, {given}", born, address
    elif error == 5:
        address = _misspelt(random, address)
    return f"{given} {surname}", born, address


def _misspelt(random: Random, word: str) -> str:
    """One letter left out, doubled, or swapped with the next."""
    at = random.randrange(1, len(word) - 1)
    changed = ("", 2 * word[at], word[at + 1] + word[at])
    kind = random.randrange(3)
    return word[:at] + changed[kind] + word[at + 1 + (kind == 2) :]


def make_questions(n_rows: int, seed: int) -> Table:
    """Questions to a shop, some topics far more frequent than others."""
    random = Random(seed)
    topics = list(_QUESTIONS)
    often = [len(topics) - rank for rank in range(len(topics))]
    table: Table = {"id": [], "question": [], "topic": []}
    for row in range(n_rows):
        (topic,) = random.choices(topics, often)
        core = random.choice(_QUESTIONS[topic]).format(thing=random.choice(_THINGS))
        table["id"].append(f"q{row:04}")
        table["question"].append(random.choice(_POLITE) + core + random.choice(_CLOSING))
        table["topic"].append(topic)
    return table


def make_messages(n_rows: int, seed: int) -> Table:
    """Messages of a few machines, in which a new kind of problem appears halfway through."""
    random = Random(seed)
    table: Table = {"id": [], "message": [], "kind": []}
    for row in range(n_rows):
        known = [kind for kind in _MESSAGES if kind != _LATE or row >= n_rows // 2]
        kind = random.choice(known)
        message = random.choice(_MESSAGES[kind]).format(
            host=random.choice(_HOSTS), user=random.choice(_USERS), n=random.randint(2, 60),
            p=random.randint(80, 99),
        )  # fmt: skip
        table["id"].append(f"m{row:04}")
        table["message"].append(message)
        table["kind"].append(kind)
    return table


def _shuffled(random: Random, table: Table) -> Table:
    order = list(range(len(table["id"])))
    random.shuffle(order)
    return {name: [values[i] for i in order] for name, values in table.items()}


SAMPLES: dict[str, Callable[[int, int], Table]] = {
    "people": make_people,
    "questions": make_questions,
    "messages": make_messages,
}
