"""What one request, one connection and all of them together may take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Numbers that keep the service alive, whoever asks. docs/service.md lists them."""

    json_bytes: int = 8 * 2**20
    """Of a JSON body: parsing holds up other threads, about 10 ms per MiB."""
    bulk_bytes: int = 64 * 2**20
    """Of an Arrow or npy body."""
    all_bytes: int = 256 * 2**20
    """Of all bodies that are being read or wait for their turn."""
    rows: int = 20_000
    """Of one request that adds points."""
    dimensions: int = 65_536
    asked_rows: int = 256
    """Of one request for neighbours or clusters of new points."""
    neighbors: int = 1_000
    key_length: int = 1_024
    text_length: int = 65_536
    page: int = 1_000
    """Entries on one page of an answer."""
    tree_size: int = 5_000
    """Branches of a subtree."""
    waiting_writes: int = 64
    """Requests that change something and wait for their turn, before others get a 503."""
    head_bytes: int = 65_536
    """Of the first line and the headers of a request."""
    head_seconds: float = 10
    """Until the headers of a request are complete; and how long an idle connection stays open."""
    body_seconds: float = 60
    """Until a body is complete."""
    request_seconds: float = 300
    """Until an answer is sent, event streams aside."""
    connections: int = 12_000
    streams: int = 500
    """Event streams at a time."""
    closing_seconds: float = 20
    """Until the process ends after SIGTERM, for requests and for the collection each."""
