"""Random requests by schemathesis, by the schema as it is and by one that knows what is there."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import numpy as np
from serving import SETTINGS, Process

from perchtree import Collection

KEYS = [f"k{i}" for i in range(12)]
ALWAYS_OFF = """[checks]
# What a schema cannot say: vectors have as many numbers as those before, pairs do not contradict.
positive_data_acceptance.enabled = false
# A request that is too large, or does not fit to what is there, is refused as well.
negative_data_rejection.expected-statuses = [
    400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 421, 422, 431, 503,
]
"""
INFORMED_OFF = (
    "negative_data_rejection.enabled = false\n"  # the service takes more than this schema
)


def fill(path, encoder=None):
    """A small collection for random requests."""
    with Collection.open(path, write=True, encoder=encoder, **SETTINGS) as collection:
        texts = [f"word{i % 5} text {i % 7}" for i in range(60)]
        keys = [f"k{i}" for i in range(60)]
        rows = np.random.default_rng(0).normal(size=(60, 2))
        if encoder is None:
            collection.add(rows, keys=keys, texts=texts, classes=[i % 3 for i in range(60)])
        else:
            collection.add(keys=keys, texts=texts)


def informed(schema, encoder):
    """A schema whose keys are mostly known ones, and whose vectors have two numbers."""
    text = json.dumps(schema)
    known = {"anyOf": [{"enum": KEYS}, {"type": "string", "maxLength": 6}]}
    vector = {"type": "array", "items": {"type": "number", "minimum": -9, "maximum": 9}}
    vector |= {"minItems": 2, "maxItems": 2}

    def walk(part, name=""):
        if isinstance(part, list):
            return [walk(item) for item in part]
        if not isinstance(part, dict):
            return part
        part = {key: walk(value, key) for key, value in part.items()}
        properties = part.get("properties", {})
        for key in ("key", "a", "b"):
            if key in properties and part.get("additionalProperties") is False:
                properties[key] = known
                part["required"] = sorted({*part.get("required", []), key})
        if encoder is None and "vector" in properties and "additionalProperties" in part:
            properties["vector"] = vector
            part["required"] = sorted({*part.get("required", []), "vector"})
        if encoder is not None and part.get("additionalProperties") is False:
            for key in {"vector", "vectors"} & properties.keys():
                del properties[key]
                other = key.replace("vector", "text")
                part["required"] = sorted({*part.get("required", []), other})
                if other == "text":
                    properties["text"] = {"type": "string", "maxLength": 30}
        if encoder is None and "vectors" in properties:
            properties["vectors"] = {"type": "array", "items": vector, "maxItems": 5}
            properties.pop("texts", None)
            part["required"] = ["vectors"]
        if "keys" in properties and part.get("additionalProperties") is False:
            properties["keys"] = {"type": "array", "items": known, "minItems": 1, "maxItems": 3}
        if part.get("in") == "path" and part.get("name") == "key":
            part["schema"] = {"enum": KEYS}
        return part

    return walk(json.loads(text))


def run_once(url, schema, folder, n, seed, phases, configuration):
    """One run of schemathesis: how many requests it has made; an error if anything was wrong."""
    (folder / "schema.json").write_text(json.dumps(schema))
    (folder / "checks.toml").write_text(configuration)
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "--config-file",
        str(folder / "checks.toml"), "run", str(folder / "schema.json"), "--url", url,
        "--max-examples", str(n), "--seed", str(seed), "--phases", phases, "--no-color",
        "--max-failures", "5", "--generation-database", "none", "--request-timeout", "900",
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, check=False,
        env=os.environ | {"NO_PROXY": "*"},
    )  # fmt: skip
    found = re.search(r"([\d,]+) generated", done.stdout)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert found, done.stdout[-3000:]
    return int(found[1].replace(",", ""))


def fuzz(least, per_run=100, seed=1, phases="coverage,fuzzing,stateful"):
    """Make at least so many requests; then the folders must be whole."""
    total = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for encoder in (None, "chars"):
            fill(folder / f"{encoder}.perchdb", encoder)
        with (
            Process(folder / "None.perchdb", "-q", "--distance", "1") as plain,
            Process(folder / "chars.perchdb", "-q", "--distance", "0.5") as encoded,
        ):
            while total < least:
                for process, encoder in ((plain, None), (encoded, "chars")):
                    schema = httpx.get(
                        f"{process.url}/openapi.json", trust_env=False, timeout=60
                    ).json()
                    known = informed(schema, encoder), ALWAYS_OFF + INFORMED_OFF
                    for given, checks in (known, (schema, ALWAYS_OFF)):
                        total += run_once(process.url, given, folder, per_run, seed, phases, checks)
                        print(f"{total:,} requests, none wrong", flush=True)
                        seed += 1
                        if total >= least:
                            break
                    alive = httpx.get(f"{process.url}/ready", trust_env=False, timeout=60)
                    assert alive.status_code == 200
            for process in (plain, encoded):
                assert process.stop() == 0, process.errors
                assert not any("Error at" in line for line in process.errors), process.errors
        for encoder in (None, "chars"):
            check = [sys.executable, "-m", "perchtree", "check", str(folder / f"{encoder}.perchdb")]
            done = subprocess.run(check, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            print(done.stdout.replace(name + "/", "").strip())
    return total
