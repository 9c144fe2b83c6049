"""An object store on this machine: as much of S3's protocol as reading Parquet files takes."""

import contextlib
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "lake"


@contextlib.contextmanager
def object_store(folder: Path):
    """The address of a bucket with the files of a folder, and the requests that were answered."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self):
            self._answer(with_body=False)

        def do_GET(self):
            self._answer(with_body=True)

        def _answer(self, with_body):
            parts = urlsplit(self.path)
            bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
            requests.append((self.command, key, self.headers.get("Range")))
            if bucket != BUCKET:
                self._send(404, b"", with_body)
            elif key == "":
                self._send(200, listing(folder, parse_qs(parts.query)), with_body)
            elif (folder / key).is_file():
                self._send_file((folder / key), with_body)
            else:
                self._send(404, b"", with_body)

        def _send_file(self, path, with_body):
            body, wanted = path.read_bytes(), self.headers.get("Range")
            if wanted is None:
                self._send(200, body, with_body, path)
                return
            first, last = (int(n) for n in wanted.removeprefix("bytes=").split("-"))
            part = body[first : last + 1]
            where = f"bytes {first}-{first + len(part) - 1}/{len(body)}"
            self._send(206, part, with_body, path, where)

        def _send(self, status, body, with_body, path=None, where=None):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if path is not None:
                self.send_header("Last-Modified", formatdate(path.stat().st_mtime, usegmt=True))
                self.send_header("ETag", f'"{path.stat().st_size}"')
            if where is not None:
                self.send_header("Content-Range", where)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        end = f"127.0.0.1:{server.server_address[1]}"
        query = f"scheme=http&region=here&endpoint_override={end}"
        yield (lambda place: f"s3://name:secret@{BUCKET}/{place}?{query}"), requests
    finally:
        server.shutdown()
        server.server_close()


def listing(folder: Path, query: dict[str, list[str]]) -> bytes:
    """Answers ListObjectsV2, of any depth."""
    prefix = query.get("prefix", [""])[0]
    most = int(query.get("max-keys", ["1000"])[0])
    found = sorted(p for p in folder.rglob("*") if p.is_file())
    names = [(p.relative_to(folder).as_posix(), p) for p in found]
    names = [(name, p) for name, p in names if name.startswith(prefix)][:most]
    contents = "".join(
        f"<Contents><Key>{escape(name)}</Key><Size>{p.stat().st_size}</Size>"
        "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
        for name, p in names
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(names)}</KeyCount>"
        f"<MaxKeys>{most}</MaxKeys><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>"
    ).encode()
