from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from irbench.exporter.freshness import bundle_facts
from irbench.notices import ExportNotice
from irbench.notices.bundle_notices import BundleFacts, BundleOutdated, BundleUsed, OfBundle, SourceChanged
from irbench.render.export_texts import agreement, export_problems
from irbench.spec import RANDOM_DRAWS, Bundle
from irbench.store.card import Card, Origin

NOW = datetime(2026, 1, 31, 14, 5, tzinfo=UTC)
NET = BundleFacts(
    name="net",
    created="2026-01-31T12:00:00+00:00",
    source="net.py:build",
    location="/work/net.py:build",
    options=(),
    files=("/work/net.py",),
)
EXAMPLES: dict[str, tuple[dict[str, Any], str]] = {
    "bundle-used": ({}, "using net, exported 2 h ago (2026-01-31 12:00 UTC) from /work/net.py:build"),
    "source-changed": (
        {},
        "/work/net.py changed since net was exported 2 h ago (2026-01-31 12:00 UTC): exporting again",
    ),
    "tools-changed": (
        {"tools": {"keras": "3.9"}},
        "net was exported 2 h ago (2026-01-31 12:00 UTC) with other tools (keras is 3.9): exporting again",
    ),
    "options-changed": (
        {"imports": ["layers"]},
        ("net was exported 2 h ago (2026-01-31 12:00 UTC) with other options (now --import layers): exporting again"),
    ),
    "source-missing": (
        {},
        (
            "warning: net was exported 2 h ago (2026-01-31 12:00 UTC) from /work/net.py:build, which cannot be found"
            " any more: whether the model has changed since is unknown"
        ),
    ),
    "not-exportable": (
        {"tools": {"tensorflow": None}},
        (
            "warning: net was exported 2 h ago (2026-01-31 12:00 UTC) with other tools, and is used as it is: without"
            " tensorflow it cannot be exported again"
        ),
    ),
    "origin-unknown": (
        {"exports_again": False},
        (
            "warning: net was exported 2 h ago (2026-01-31 12:00 UTC) by an earlier irbench, which did not record its"
            " source; whether the model has changed since is unknown"
        ),
    ),
    "bundle-outdated": (
        {"folder": "out", "in_cache": False},
        (
            "warning: /work/net.py changed since out was exported 2 h ago (2026-01-31 12:00 UTC); to measure the"
            " present model: irbench export net.py:build -o out"
        ),
    ),
    "exported-often": (
        {"source": "net.py:build", "names": ["small", "net", "a", "b", "c"]},
        "net.py:build was exported as small and net, a, b, ...: small, exported last, is used",
    ),
    "name-taken": (
        {"name": "net", "wanted": "build", "owner": "/work/other.py:build"},
        (
            "the name build belongs to /work/other.py:build: this model is called net (irbench export --name chooses"
            " another)"
        ),
    ),
    "path-preferred": (
        {"path": "/here/net", "folder": "/cache/net/1"},
        "/here/net is used; the bundle net was exported from /work/net.py:build (to use it: irbench run /cache/net/1)",
    ),
}


def test_every_notice_has_words(subtests: pytest.Subtests):
    for kind in ExportNotice.known:
        with subtests.test(kind=kind):
            facts, words = EXAMPLES[kind.code]
            notice = kind(**({"bundle": NET} if issubclass(kind, OfBundle) else {}), **facts)
            assert f"{'warning: ' if notice.is_warning else ''}{notice.text(NOW)}" == words


def test_paths_are_shown_as_they_are_typed_here_and_many_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    files = tuple(f"{tmp_path}/nets/{name}.py" for name in "abcde")
    words = SourceChanged(bundle=replace(NET, files=files)).text(NOW)
    assert words.startswith("nets/a.py, nets/b.py, nets/c.py and 2 more files changed since net")


def test_options_that_were_chosen_are_shown_as_they_are_typed():
    options = {"batch": 4, "imports": ["a b", "c"], "shape": {"tokens": [1, 64], "n": [2]}}
    origin = Origin("net.py:build", "/work", "/work/net.py:build", "tf", options, {})
    facts = bundle_facts(Card(Bundle("net", (), ()), "", NET.created, {}, origin))
    words = BundleUsed(bundle=facts).text(NOW)
    assert words.endswith("/work/net.py:build with --batch 4 --import 'a b' --import c --shape tokens=1x64 --shape n=2")
    seeded = replace(NET, options=(("seed", "5"),))
    words = BundleOutdated(bundle=seeded, folder="my out", in_cache=False).text(NOW)
    assert words.endswith("irbench export net.py:build --seed 5 -o 'my out'")


def test_a_zoo_model_is_named_once():
    words = BundleUsed(bundle=replace(NET, location="net")).text(NOW)
    assert words == "using net, exported 2 h ago (2026-01-31 12:00 UTC)"


def test_what_is_unusual_in_a_model_is_said_in_words():
    assert export_problems(Bundle("net", (), ())) == ()
    drawing = Bundle(
        "net", (), (), details={RANDOM_DRAWS: "RandomUniform in noise", "activation_problems": "a is zero"}
    )
    assert export_problems(drawing) == (
        "it draws random numbers (RandomUniform in noise), so that its outputs cannot be compared",
        "a is zero",
    )
    trained = Bundle("net", (), (), details={"training_layers": "drop (Dropout)"})
    assert export_problems(trained) == (
        "layers called with training=True (drop (Dropout)) run in inference mode anyway, as in model.predict",
    )


def test_the_agreement_of_an_export_is_that_of_its_outputs_where_they_can_be_compared():
    assert agreement(Bundle("net", (), (), details={"max_rel_error": 2e-7})) == "agrees with the original to 2e-07"
    drawing = Bundle("net", (), (), details={"max_rel_error": None, RANDOM_DRAWS: "RandomUniform in noise"})
    assert agreement(drawing) == "draws random numbers: only shapes compared"
