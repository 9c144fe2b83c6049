"""Client: a collection behind a service, with the methods of `Collection`."""

import io
import random
import ssl
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .collection.corrections import Correction

_RETRIED = (408, 429, 502, 503, 504)
_ROWS, _BYTES = 2_000, 4 * 2**20
"""Records, and bytes of vectors, in one request."""
_NPY = "application/x-npy"


class ServiceError(ValueError):
    """A service has rejected a request; the one-line message is that of the service.

    `status` is the HTTP status, and `more` has details for programs, such as `now` for a cluster
    that has changed.
    """

    def __init__(self, status: int, message: str, more: dict[str, Any]) -> None:
        super().__init__(message)
        self.status, self.more = status, more


class Client:
    """A collection served over HTTP by `perch serve`.

    Methods are called as those of `Collection`, with keys wherever a collection has keys. (The
    service answers with what it shows: `add` with clusters, `remove` with a number.) Requests
    without a response, or that the service asks to repeat, are retried; a change is never made
    twice.

    Parameters
    ----------
    url : str
        For example "http://127.0.0.1:8732".
    token : str, optional
        The token of the service, if it requires one.
    timeout : float
        Seconds to wait for a response.
    retries : int
        How often a request is retried, after 0.2, 0.4, 0.8 seconds and so on, or after the time
        given by the service.
    certificates : path, optional
        For HTTPS: a PEM file with the certificates to trust, instead of the usual authorities.

    Examples
    --------
    >>> from perchtree import Client
    >>> people = Client("http://127.0.0.1:8732")
    >>> people.add([[0.0, 1.0]], keys=["ann"])  # doctest: +SKIP
    >>> people.nearest([[0.1, 1.0]])  # doctest: +SKIP
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        retries: int = 5,
        certificates: str | Path | None = None,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise ImportError("Client needs httpx: pip install 'perchtree[serve]'") from None
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise ValueError(f"expected an address such as http://127.0.0.1:8732, got {url!r:.100}")
        self._httpx, self._retries = httpx, retries
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        trusted = True if certificates is None else ssl.create_default_context(cafile=certificates)
        self._http = httpx.Client(
            base_url=url.rstrip("/"), headers=headers, timeout=timeout, trust_env=False,
            verify=trusted,
        )  # fmt: skip

    # Requests

    def _ask(self, method: str, path: str, **given: Any) -> Any:
        """The answer to a request, which may be repeated without harm."""
        for attempt in range(self._retries + 1):
            try:
                answer = self._http.request(method, path, **given)
            except self._httpx.TransportError as error:
                if attempt == self._retries:
                    raise ConnectionError(f"the service does not answer: {error}") from None
                self._wait(attempt, None)
                continue
            if answer.status_code not in _RETRIED or attempt == self._retries:
                break
            self._wait(attempt, answer.headers.get("Retry-After"))
        if answer.is_success:
            return answer.json()
        try:
            more = answer.json()
            message = str(more.pop("error"))
        except (ValueError, KeyError, AttributeError):
            message, more = f"the service answered with {answer.status_code}", {}
        raise ServiceError(answer.status_code, message, more)

    @staticmethod
    def _wait(attempt: int, told: str | None) -> None:
        seconds = float(told) if told is not None and told.isdigit() else 0.2 * 2**attempt
        time.sleep(min(seconds, 30.0) * (0.75 + random.random() / 2))

    # Changing

    def add(
        self,
        X: ArrayLike | None = None,
        *,
        keys: Any = None,
        texts: Any = None,
        classes: Any = None,
    ) -> list[int | str | None]:
        """Add records, in order, in requests of at most 2,000. See `Collection.add`.

        Each request is atomic. Records that already exist with the same content are left alone,
        so the whole call can be repeated after an error.

        Returns
        -------
        clusters : list
            The standing cluster of each record; None if the service keeps none.
        """
        rows = None if X is None else np.asarray(X)
        columns = {"key": _listed(keys), "text": _listed(texts), "class": _listed(classes)}
        columns = {name: column for name, column in columns.items() if column is not None}
        lengths = {len(column) for column in columns.values()}
        lengths |= set() if rows is None else {len(rows)}
        if len(lengths) != 1:
            raise ValueError("X, keys, texts and classes must have the same length, and be given")
        if rows is not None and (rows.ndim != 2 or rows.dtype.kind not in "fiub"):
            raise ValueError("X must be numbers, one row per record")
        clusters: list[int | str | None] = []
        for part in _parts(lengths.pop(), rows):
            own = {name: column[part] for name, column in columns.items()}
            request = _as_npy(rows, part, own) or _as_json(rows, part, own)
            answer = self._ask("POST", "/v1/points", **request)
            clusters += [point["cluster"] for point in answer["points"]]
        return clusters

    def update(
        self, keys: Any, X: ArrayLike | None = None, *, texts: Any = None, classes: Any = None
    ) -> None:
        """Store records under their keys one by one, replacing existing ones.

        If no vector is given, a record keeps its vector and gets the text and class given here.
        """
        keys, rows = _listed(keys), None if X is None else np.asarray(X, np.float64)
        texts, classes = _listed(texts), _listed(classes)
        for place, key in enumerate(keys):
            record: dict[str, Any] = {}
            for name, column in (("text", texts), ("class", classes)):
                if column is not None:
                    record[name] = column[place]
            if rows is not None:
                record["vector"] = rows[place].tolist()
            self._ask("PUT", _path("points", key), json=record)

    def remove(self, keys: Any, *, missing: str = "error") -> int:
        """Remove records and return how many existed. See `Collection.remove`."""
        body = {"keys": _listed(keys), "missing_ok": missing == "ok"}
        return int(self._ask("POST", "/v1/removals", json=body)["removed"])

    # Asking

    def __len__(self) -> int:
        return int(self.info()["points"])

    def info(self) -> dict[str, Any]:
        """Facts about the service and its collection."""
        return dict(self._ask("GET", "/v1/info"))

    def get(self, key: Any, *, vector: bool = False) -> dict[str, Any]:
        """A record with its cluster, its confidence, and its path to the root."""
        if key in (".", ".."):  # which have a meaning of their own in a path
            found = self._ask("GET", "/v1/points", params={"key": key})["points"]
            if not found:
                raise ServiceError(404, "there is no record with that key", {})
            return dict(found[0])
        return dict(self._ask("GET", _path("points", key), params={"vector": vector}))

    def nearest(
        self, X: ArrayLike | None = None, k: int = 1, *, texts: Any = None
    ) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Find the k nearest records of each row, by their keys. See `Collection.nearest`."""
        found = [
            row
            for body in _asked(X, texts)
            for row in self._ask("POST", "/v1/nearest", json=body | {"k": k})["neighbors"]
        ]
        keys = np.empty((len(found), k), object)
        distances = np.full((len(found), k), np.nan, np.float32)
        for place, row in enumerate(found):
            keys[place, : len(row)] = [neighbor["key"] for neighbor in row]
            distances[place, : len(row)] = [neighbor["distance"] for neighbor in row]
        return keys, distances

    def predict(self, X: ArrayLike | None = None, *, texts: Any = None) -> list[int | str | None]:
        """The standing cluster of the record that is nearest to each row."""
        return [
            row["cluster"]
            for body in _asked(X, texts)
            for row in self._ask("POST", "/v1/predict", json=body)["predictions"]
        ]

    def search(self, query: str, n: int = 10) -> list[Any]:
        """The keys of records whose text or key has these words. See `Collection.search`."""
        answer = self._ask("GET", "/v1/search", params={"q": query, "n": n, "syntax": "fts"})
        return [hit["key"] for hit in answer["hits"]]

    def clusters(self, **how: Any) -> Iterator[dict[str, Any]]:
        """All clusters, the largest first: the standing ones, or by k, min_size or threshold."""
        after = None
        while True:
            params = how | ({} if after is None else {"after": after})
            answer = self._ask("GET", "/v1/clusters", params=params)
            yield from answer["clusters"]
            after = answer["next"]
            if after is None:
                return

    def members(self, cluster: int | str, **how: Any) -> Iterator[dict[str, Any]]:
        """All members of a cluster that was listed by `clusters` with the same arguments."""
        after = None
        while True:
            params = how | ({} if after is None else {"after": after})
            answer = self._ask("GET", _path("clusters", cluster), params=params)
            yield from answer["members"]
            after = answer["next"]
            if after is None:
                return

    def events(self, since: int = 0) -> list[dict[str, Any]]:
        """The changes to standing clusters after an event."""
        found: list[dict[str, Any]] = []
        while True:
            answer = self._ask("GET", "/v1/events", params={"since": since, "limit": 1000})
            found += answer["events"]
            if not answer["events"] or answer["events"][-1]["event"] >= answer["last"]:
                return found
            since = answer["events"][-1]["event"]

    # What people say

    def questions(self, n: int = 1, *, seed: int = 0) -> list[tuple[Any, Any]]:
        """Pairs of records to ask about, by their keys; the service knows the answers so far."""
        answer = self._ask("GET", "/v1/questions", params={"n": n, "seed": seed})
        return [(pair["a"]["key"], pair["b"]["key"]) for pair in answer["questions"]]

    def answer(self, pairs: Sequence[tuple[Any, Any]], same: Sequence[Any]) -> int:
        """Store answers to questions and return how many the service has."""
        said = [{"a": a, "b": b, "same": None if told is None else bool(told)}
                for (a, b), told in zip(pairs, same, strict=True)]  # fmt: skip
        return int(self._ask("POST", "/v1/answers", json=said)["n_answers"])

    def calibrate(self) -> dict[str, Any]:
        """The clustering that fits the answers best."""
        return dict(self._ask("GET", "/v1/calibration"))

    def together(self, a: Any, b: Any) -> None:
        """Mark two records as belonging together. See `Collection.together`."""
        self._ask("POST", "/v1/corrections", json={"a": a, "b": b, "kind": "together"})

    def apart(self, a: Any, b: Any) -> None:
        """Mark two records as not belonging together. See `Collection.apart`."""
        self._ask("POST", "/v1/corrections", json={"a": a, "b": b, "kind": "apart"})

    def take_back(self, a: Any, b: Any) -> None:
        """Withdraw the correction of two records. See `Collection.take_back`."""
        self._ask("POST", "/v1/corrections", json={"a": a, "b": b, "kind": "neither"})

    @property
    def corrections(self) -> list[Correction]:
        """All corrections of pairs of records, by their keys."""
        said = self._ask("GET", "/v1/corrections")["corrections"]
        return [Correction(one["kind"], one["a"], one["b"]) for one in said]

    # The object itself

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client({str(self._http.base_url)!r})>"


def _path(kind: str, name: Any) -> str:
    return f"/v1/{kind}/{quote(str(name), safe='')}"


def _listed(values: Any) -> Any:
    """A column as a list that JSON can hold."""
    if values is None:
        return None
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _parts(n_rows: int, rows: NDArray[Any] | None) -> Iterator[slice]:
    step = _ROWS
    if rows is not None and rows.size:
        step = max(1, min(step, _BYTES // (8 * rows.shape[1])))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _as_npy(
    rows: NDArray[Any] | None, part: slice, columns: dict[str, list[Any]]
) -> dict[str, Any] | None:
    """The request for vectors with keys, which takes a tenth of the time of JSON."""
    if rows is None or set(columns) != {"key"}:
        return None
    keys = np.array(columns["key"])
    told = keys.tolist()  # fixed widths drop NULs at the end, and mixed keys become texts
    if keys.dtype.kind not in "Ui" or told != columns["key"]:
        return None
    file = io.BytesIO()
    for array in (rows[part].astype(rows.dtype if rows.dtype.kind in "fi" else float), keys):
        np.save(file, array)
    return {"content": file.getvalue(), "headers": {"Content-Type": _NPY}}


def _as_json(
    rows: NDArray[Any] | None, part: slice, columns: dict[str, list[Any]]
) -> dict[str, Any]:
    vectors = {} if rows is None else {"vector": rows[part].astype(np.float64).tolist()}
    names, values = zip(*(columns | vectors).items(), strict=True)
    records = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
    return {"json": records, "headers": {"Idempotency-Key": uuid.uuid4().hex}}


def _asked(X: ArrayLike | None, texts: Any) -> Iterator[dict[str, Any]]:
    if (X is None) == (texts is None):
        raise ValueError("give either X or texts")
    name, rows = ("texts", _listed(texts)) if X is None else ("vectors", np.asarray(X).tolist())
    return ({name: rows[start : start + 256]} for start in range(0, len(rows), 256))
