"""The tables of a collection's database, and connections to it."""

import contextlib
import errno
import hashlib
import re
import sqlite3
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

from ..errors import CorruptFileError
from ..files.locking import FileInUseError

VERSION = 4
APPLICATION = 0x50524348
"""SQLite's mark for files of one application: "PRCH"."""

_PATIENCE = 10
"""Seconds to wait for another process that begins to read or write."""

_NAME = re.compile(r"CREATE (?:UNIQUE |VIRTUAL )?(?:TABLE|INDEX|TRIGGER) (\w+)")

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL, digest BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE operations (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    data BLOB NOT NULL,
    digest BLOB NOT NULL
);
CREATE TABLE records (id INTEGER PRIMARY KEY, key, text, class, digest INTEGER NOT NULL);
CREATE UNIQUE INDEX records_by_key ON records (key) WHERE key IS NOT NULL;
CREATE TABLE corrections (
    a INTEGER, b INTEGER, same INTEGER NOT NULL, digest INTEGER NOT NULL, PRIMARY KEY (a, b)
) WITHOUT ROWID;
CREATE INDEX corrections_by_b ON corrections (b);
CREATE TABLE answers (
    a INTEGER, b INTEGER, same INTEGER NOT NULL, place INTEGER NOT NULL, digest INTEGER NOT NULL,
    PRIMARY KEY (a, b)
) WITHOUT ROWID;
CREATE INDEX answers_by_b ON answers (b);
CREATE TABLE base (
    name TEXT, part INTEGER, data BLOB NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (name, part)
);
CREATE TABLE clusters (
    number INTEGER PRIMARY KEY, anchor INTEGER NOT NULL, digest INTEGER NOT NULL
);
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    ids BLOB NOT NULL,
    digest BLOB NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5 (key, text, content = 'records', content_rowid = 'id');
CREATE TRIGGER words_in AFTER INSERT ON records
WHEN new.text IS NOT NULL OR typeof(new.key) = 'text' BEGIN
    INSERT INTO words (rowid, key, text) VALUES (new.id, new.key, new.text);
END;
CREATE TRIGGER words_out AFTER DELETE ON records
WHEN old.text IS NOT NULL OR typeof(old.key) = 'text' BEGIN
    INSERT INTO words (words, rowid, key, text) VALUES ('delete', old.id, old.key, old.text);
END;
"""


def connect(database: Path, *, write: bool) -> sqlite3.Connection:
    """Open the database, which exists if it is only read.

    What is committed through a connection for writing is on disk. Checkpoints are asked for
    by name: those that SQLite makes by itself hide their errors.
    """
    connection = sqlite3.connect(
        _uri(database, "rwc" if write else "ro"), uri=True, isolation_level=None,
        check_same_thread=False, timeout=_PATIENCE,
    )  # fmt: skip
    try:
        if write:
            (journal,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if journal != "wal":
                raise OSError(
                    errno.ENOLCK,
                    "this file system cannot share a database between processes: keep the folder "
                    "on a local disk",
                    str(database),
                )
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA cache_size = -16384")
    except BaseException:
        connection.close()
        raise
    return connection


def _uri(database: Path, mode: str) -> str:
    return f"file:{urllib.parse.quote(str(database.resolve()))}?mode={mode}"


def check_words(database: Path) -> None:
    """Compare the full-text index with the texts; sqlite3.DatabaseError if they do not agree.

    SQLite does that only where it may write: in a temporary copy.
    """
    with contextlib.closing(sqlite3.connect("", uri=True, isolation_level=None)) as copy:
        for statement in _statements():
            if _NAME.match(statement)[1] in ("records", "words"):  # type: ignore[index]
                copy.execute(statement)  # without triggers
        copy.execute("ATTACH ? AS kept", (_uri(database, "ro"),))
        copy.execute("BEGIN")
        copy.execute(
            "INSERT INTO records SELECT * FROM kept.records "
            "WHERE text IS NOT NULL OR typeof(key) = 'text'"  # as triggers do
        )
        for table in ("words_data", "words_idx", "words_docsize", "words_config"):
            copy.execute(f"DELETE FROM {table}")
            copy.execute(f"INSERT INTO {table} SELECT * FROM kept.{table}")
        copy.execute("COMMIT")
        copy.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")


def move_log(connection: sqlite3.Connection) -> None:
    """Move what is in the log to its place, as far as no reader needs it; others can read."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


def truncate_log(connection: sqlite3.Connection) -> bool:
    """Move all that is in the log to its place, and empty it; False if a reader needs the log."""
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1000}")
    return not busy


def exists_in(connection: sqlite3.Connection) -> bool:
    """Whether there is a collection in the database; an error if there is anything else."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if (version, application) == (0, 0):
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise CorruptFileError("the database is not one of perchtree")
        return False
    if application != APPLICATION:
        raise CorruptFileError("the database is not one of perchtree")
    if version > VERSION:
        raise CorruptFileError(
            f"the database has version {version}, this version of perchtree knows {VERSION}: "
            "update perchtree"
        )
    return True


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables, within a transaction that the caller has begun."""
    for statement in _statements():
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def update_tables(connection: sqlite3.Connection) -> None:
    """Make the tables that a database of an earlier version lacks, and drop what it has no more."""
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    for statement in _statements():
        if _NAME.match(statement)[1] not in there:  # type: ignore[index]
            connection.execute(statement)
    connection.execute("DELETE FROM facts WHERE name = 'head'")  # named the last operation, up to 3
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _statements() -> list[str]:
    statements, begun = [], ""
    for line in _TABLES.strip().splitlines():
        begun += line + "\n"
        if sqlite3.complete_statement(begun):
            statements.append(begun)
            begun = ""
    return statements


def digest_of(*pieces: bytes | memoryview) -> bytes:
    """A checksum of what is kept. SQLite has none of its own, and would serve a flipped bit."""
    parts: list[bytes | memoryview] = []
    for piece in pieces:
        parts += len(piece).to_bytes(8, "little"), piece
    *small, last = parts
    digest = hashlib.blake2b(b"".join(small), digest_size=16)
    digest.update(last)  # which may be large, and is not copied
    return digest.digest()


@contextlib.contextmanager
def plain_database_errors(name: str) -> Iterator[None]:
    """Say in one line what is wrong with a database, where SQLite has few words for it."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OSError(errno.EIO, f"the database cannot be used: {_line(error)}", name) from None
    except sqlite3.ProgrammingError as error:
        if "closed" not in str(error):
            raise
        raise ValueError(f"{name} is closed: open it again to read its records") from None
    except sqlite3.DatabaseError as error:
        raise CorruptFileError(f"{name} is damaged: {_line(error)}") from None


@contextlib.contextmanager
def plain_errors(name: str) -> Iterator[None]:
    """The same where a database is read: content that makes no sense is damage as well."""
    with plain_database_errors(name):
        try:
            yield
        except FileInUseError:
            raise
        except CorruptFileError as error:
            if name in str(error):
                raise
            raise CorruptFileError(f"{name}: {error}") from None
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorruptFileError(f"{name} is damaged: {error!r}") from None


def _line(error: Exception) -> str:
    """What SQLite says, in one line: it may cite the statements that have made its tables."""
    return " ".join(str(error).split())
