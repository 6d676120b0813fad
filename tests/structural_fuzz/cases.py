"""What is written and what is called with it, for each kind of file or answer that may come from elsewhere."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import sqlite3
import struct
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import documents
import msgspec
import small_bundles
import tomli_w

from irbench.across_runs.summaries import VERSION
from irbench.features.receipt import report as receipts
from irbench.features.receipt.report import Receipt, encode_receipt

from .altered_archives import archive
from .altered_data import data_target, write_data
from .altered_documents import altered, json_bytes
from .altered_keras_files import examine_keras_file, write_keras_file
from .altered_models import LINK, altered_model, model_with_weights_elsewhere
from .altered_servers import altered_answers, call_server
from .hostile_values import OUTSIDE, TEXTS, is_seldom
from .known_documents import (
    MAGIC,
    ORIGIN,
    PLAN,
    STATE,
    known_profiles,
    known_receipt,
    known_runs,
    measured_run,
    parts_of_launch,
    stored_run,
)

_DONE = frozenset({0, 2})
_COMPARED = frozenset({0, 1, 2, 4})
_NOT_INSTALLED = 5


@dataclass(frozen=True)
class Call:
    """What is done with a file.

    Attributes:
        words: A command line, without the program's name; or the name of a function and nothing else.
        codes: The exit codes that it may end with.
        function: What is called in place of a command line; it may raise ``IrbenchError``.
    """

    words: tuple[str, ...]
    codes: Collection[int] = _DONE
    function: Callable[[], object] | None = None


def _model(folder: Path, chance: random.Random) -> Sequence[Call]:
    path = altered_model(chance).write(folder / "model")
    with contextlib.suppress(OSError):
        (path.parent / LINK).symlink_to(chance.choice(("../results", "/etc/passwd", "hostile.onnx", OUTSIDE)))
    name = str(path)  # the lent worker is in another folder
    ways: tuple[tuple[str, ...], ...] = (
        ("inspect", name),
        ("inspect", name, "--format", "json"),
        ("inspect", name, "--batch", "2"),
        ("inspect", "--diff", name, name),
        ("cost", name),
        ("cost", name, "--batch", "3", "--per-node"),
        ("run", name, "--backends", "fake-a", "--dry-run"),
        ("run", name, "--backends", "fake-a", "--dry-run", "--batch", "2"),
    )
    return [Call(chance.choice(ways))]


def _run_document(folder: Path, chance: random.Random) -> Sequence[Call]:
    document, launches = measured_run()
    has_launches = is_seldom(chance, 2)
    plain = altered(document if has_launches else chance.choice(known_runs()), chance)
    run = _write_run(folder, json_bytes(plain, chance), launches if has_launches else {})
    return [Call(*way) for way in chance.sample(_ways_with_a_run(run), 2)]


def _launch(folder: Path, chance: random.Random) -> Sequence[Call]:
    """Alter what a launch's file says, with checksums that fit."""
    document, launches = measured_run()
    name = chance.choice(sorted(launches))
    header, series = parts_of_launch(launches[name])
    changed: Any = altered(header, chance) if not is_seldom(chance, 4) else header
    packed = [_altered_series(data, chance) for data in series]
    body = b"".join(struct.pack("<I", len(part)) + part for part in (json.dumps(changed).encode(), *packed))
    if is_seldom(chance, 10):
        body = body[: chance.randrange(len(body))]
    data = MAGIC + hashlib.sha256(body).digest() + body
    plain = {**document, "launches": {**document["launches"], name: hashlib.sha256(data).hexdigest()}}
    run = _write_run(folder, json.dumps(plain).encode(), {**launches, name: data})
    ways = [way for way in _ways_with_a_run(run) if {"--samples", "compare", "receipt", "export"} & set(way[0])]
    return [Call(*chance.choice(ways))]


def _altered_series(data: bytes, chance: random.Random) -> bytes:
    if not is_seldom(chance, 3):
        return data
    form = chance.randrange(5)
    if form == 0:
        return data[: len(data) // 2]
    if form == 1:
        return zlib.compress(b"")
    if form == 2:
        return zlib.compress(bytes(8 << 20))
    if form == 3:
        return zlib.compress(bytes([chance.randrange(256)]) * 8 * chance.choice((1, 5, 5000)))
    return zlib.compress(b"\xff" * 7)


def _archive(folder: Path, chance: random.Random) -> Sequence[Call]:
    files = dict(stored_run())
    if is_seldom(chance, 3):
        files["run.json"] = json_bytes(altered(json.loads(files["run.json"]), chance), chance)
    (folder / "runs.tar.gz").write_bytes(archive(documents.RUN_ID, files, chance))
    name = str(folder / "runs.tar.gz")  # the lent worker is in another folder
    importing = ("results", "import", name)
    if is_seldom(chance, 4):
        return [Call(("compare", name, name), _COMPARED)]
    return [Call(importing), Call(("results",)), Call(importing)]


def _receipt(folder: Path, chance: random.Random) -> Sequence[Call]:
    plain = altered(known_receipt(), chance)
    data = json_bytes(plain, chance)
    with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):  # else its checksum is wrong
        data = encode_receipt(receipts.sealed(msgspec.json.decode(data, type=Receipt)))
    (folder / "claim.irb").write_bytes(data)
    return [Call(("replay", "claim.irb", "--format", chance.choice(("table", "json", "md"))), _COMPARED)]


def _profile(folder: Path, chance: random.Random) -> Sequence[Call]:
    (folder / "profile.json").write_bytes(json_bytes(altered(chance.choice(known_profiles()), chance), chance))
    form = ("--format", chance.choice(("table", "json", "csv", "md")))
    by = ("--by", chance.choice(("class", "op", "node")))
    trace = ("--trace", "trace.json") if is_seldom(chance, 3) else ()
    return [Call(("profile", "--show", "profile.json", *by, *form, *trace))]


def _plan(folder: Path, chance: random.Random) -> Sequence[Call]:
    changed = altered(PLAN, chance)
    with contextlib.suppress(Exception):  # what TOML has no form for: null, halves of surrogate pairs
        (folder / "plan.toml").write_text(tomli_w.dumps(_without_nothing(changed)))
    if not (folder / "plan.toml").exists():
        (folder / "plan.toml").write_text(tomli_w.dumps({**PLAN, "name": chance.choice(TEXTS[:20]).strip("\ud800")}))
    codes = (*_DONE, _NOT_INSTALLED)
    return [Call(("plan", chance.choice(("expand", "expand", "show")), "plan.toml"), codes)]


def _without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nothing(inner) for key, inner in value.items() if inner is not None}
    return [_without_nothing(inner) for inner in value if inner is not None] if isinstance(value, list) else value


def _card(folder: Path, chance: random.Random) -> Sequence[Call]:
    has_weights_elsewhere = is_seldom(chance, 2)
    model = model_with_weights_elsewhere(chance) if has_weights_elsewhere else b"onnx"
    place = small_bundles.put(content=model, target=folder / "bundle")
    if has_weights_elsewhere and is_seldom(chance, 2):
        return [Call(("run", str(place), "--backends", "fake-a", "--dry-run"))]
    card = place / "card.json"
    plain = json.loads(card.read_text())
    plain["origin"] = ORIGIN if is_seldom(chance, 2) else None
    card.write_bytes(json_bytes(altered(plain, chance), chance))
    ways = (
        ("inspect", str(place)),
        ("inspect", str(place), "--format", "json"),
        ("cost", str(place)),
        ("run", str(place), "--backends", "fake-a", "--dry-run"),
    )
    return [Call(chance.choice(ways))]


def _sweep_state(folder: Path, chance: random.Random) -> Sequence[Call]:
    from irbench.store.sweeps import StateFile, sweep_of_run

    root = folder / "results"
    state = root / "sweeps" / "night" / "state.jsonl"
    state.parent.mkdir(parents=True)
    lines = [json_bytes(altered(line, chance) if is_seldom(chance, 2) else line, chance) for line in STATE]
    state.write_bytes(b"\n".join(lines) + (b"\n" if not is_seldom(chance, 4) else b""))

    def read() -> None:
        sweep_of_run(root, "run1")
        found = StateFile.open(root, "night")
        if found is not None:
            found.close()

    return [Call(("read the state of a sweep",), function=read)]


def _index(folder: Path, chance: random.Random) -> Sequence[Call]:
    """Write an index whose rows, columns or form are not those that irbench makes."""
    _write_run(folder, json.dumps(known_runs()[0]).encode(), {})
    root = folder / "results"
    file = root / chance.choice(("index.sqlite", "history.sqlite", "times.sqlite"))
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"pragma user_version={chance.choice((7, 7, 7, VERSION, VERSION, 0, 2**31 - 1))}")
        connection.execute(chance.choice(_INDEX_TABLES))
        for _ in range(chance.choice((1, 3))):
            row = [chance.choice(_INDEX_VALUES) for _ in range(4)]
            row[0] = chance.choice((f"runs/2025-11/{documents.RUN_ID}", "../..", OUTSIDE, *_INDEX_VALUES))
            with contextlib.suppress(sqlite3.Error):
                connection.execute("insert into runs values (?, ?, ?, ?)", row)
    return [Call(("results",)), Call(("show",)), Call(("history",)), Call(("report", "--site", "pages"))]


def _data(folder: Path, chance: random.Random) -> Sequence[Call]:
    from irbench.data.sample_reading import read_files

    path, target = write_data(folder, chance), data_target(chance)
    return [Call(("read samples of --data",), function=lambda: read_files(path, target))]


def _write_run(folder: Path, document: bytes, files: Mapping[str, bytes]) -> str:
    place = folder / "results" / "runs" / "2025-11" / documents.RUN_ID
    place.mkdir(parents=True)
    (place / "run.json").write_bytes(document)
    for name, data in files.items():
        (place / name).write_bytes(data)
    return documents.RUN_ID


def _ways_with_a_run(run: str) -> list[tuple[tuple[str, ...], Collection[int]]]:
    return [
        (("results",), _DONE),
        (("results", "--format", "json"), _DONE),
        (("results", "--format", "md"), _DONE),
        (("results", "--rebuild"), _DONE),
        (("show", run), _DONE),
        (("show", run, "--intervals", "--warnings"), _DONE),
        (("show", run, "--memory"), _DONE),
        (("show", run, "--format", "json"), _DONE),
        (("show", run, "--format", "csv"), _DONE),
        (("show", run, "--format", "md"), _DONE),
        (("show", run, "--samples"), _DONE),
        (("compare", run, run), _COMPARED),
        (("report", "--site", "pages"), _DONE),
        (("compare", run, run, "--format", "json"), _COMPARED),
        (("history",), _COMPARED),
        (("history", "--format", "json"), _COMPARED),
        (("receipt", run, "-o", "claim.irb"), _DONE),
        (("plan", "from", run), _DONE),
        (("results", "export", run, "-o", "runs.tar.gz"), (*_DONE, 3)),
        (("results", "export", run, "-o", "runs.csv"), (*_DONE, 3)),
        (("results", "export", run, "--format", "openmetrics"), (*_DONE, 3)),
        (("results", "rm", run, "--yes"), _DONE),
    ]


_INDEX_VALUES = (None, "", 0, -1, 2**63 - 1, 1.5, float("inf"), b"", b"{}", b"[1]", b"\xff", "\x1b[31m", "x" * 100_000)
_INDEX_TABLES = (
    "create table runs (folder text primary key, size integer, changed_ns integer, entry blob)",
    "create table runs (folder, size, changed_ns, entry)",
    "create table runs (folder text, entry blob)",
    "create table runs (folder text primary key, size, changed_ns, entry blob, more generated always as (size))",
    "create view runs as select 'a' as folder, 1 as size, 2 as changed_ns, x'7b7d' as entry",
    "create table other (folder text)",
)


def _keras_file(folder: Path, chance: random.Random) -> Sequence[Call]:
    path = write_keras_file(folder, chance)
    return [Call(("read a .keras file",), function=lambda: examine_keras_file(path))]


def _model_server(folder: Path, chance: random.Random) -> Sequence[Call]:
    answers = altered_answers(chance)
    for path, (body, length) in answers.items():  # read by whoever looks at a case
        (folder / f"{Path(path).name}-{length}").write_bytes(body)
    return [Call(("call a model server",), function=lambda: call_server(answers))]


KINDS: Mapping[str, Callable[[Path, random.Random], Sequence[Call]]] = {
    "model": _model,
    "run document": _run_document,
    "launch": _launch,
    "archive": _archive,
    "receipt": _receipt,
    "profile": _profile,
    "plan": _plan,
    "card": _card,
    "sweep state": _sweep_state,
    "index": _index,
    "samples": _data,
    "Keras file": _keras_file,
    "model server": _model_server,
}
"""By kind, what writes a file of it into an empty folder and returns what is called there."""
