"""Words are made in render, of facts that are plain JSON values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from launches import even, group
from machines import facts

from irbench.features.doctor.findings import find
from irbench.features.doctor.machine import RunningProgram
from irbench.notices import Context, Mark, Note, Warn
from irbench.notices.base import Notice
from irbench.notices.warnings import Unverified
from irbench.spec import Artifact, Disagreement, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise


def plain(notice: Notice) -> Any:
    return json.loads(msgspec.json.encode(notice.facts))


EXAMPLES: Mapping[str, tuple[Any, str]] = {
    f"{kind.__mro__[1].__name__} {kind.code}": (plain(shown), words)
    for kind, shown, words in (
        *((kind, kind.example(), kind.example().brief(Context())) for kind in Warn.known),
        *((kind, kind.example(), kind.example().text(Context())) for kind in Note.known),
        *((kind, kind.example(), kind.example().text()) for kind in Mark.known),
    )
}
BUSY = facts(
    hypervisor="KVM",
    quota=1.0,
    turbo=True,
    foreign_share=0.9,
    programs=(RunningProgram("stress", 4711, 0.9, "stress"),),
)
SENTENCE = 4
"""Words from which on a text is a sentence, and no name of something."""


def texts_in(value: Any) -> list[str]:
    """Return every text that a JSON value holds."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return [text for item in inner for text in texts_in(item)]


def is_sentence(text: str) -> bool:
    return len(text.split()) >= SENTENCE


def test_the_facts_of_a_code_are_json_and_hold_no_words_that_are_made_of_them(subtests: pytest.Subtests):
    for name in EXAMPLES:
        with subtests.test(name=name):
            example, words = EXAMPLES[name]
            assert json.loads(json.dumps(example)) == example
            assert not [text for text in texts_in(example) if text and is_sentence(text) and text in words]


def test_the_facts_of_a_finding_are_json_and_hold_no_words_that_are_made_of_them():
    for finding in find(BUSY):
        plain = json.loads(json.dumps(msgspec.to_builtins(finding.facts)))
        assert not [text for text in texts_in(plain) if is_sentence(text) and text in finding.words().found]


def test_a_table_that_is_stored_holds_no_sentence():
    poor = Artifact("onnx", Path(), (), (), domains=("com.microsoft",), disagreement=Disagreement("max-rel", 0.5, 0.2))
    rows = group("base", "int8")
    rows = replace(rows, cells=(rows.cells[0], replace(rows.cells[1], artifact=poor)))
    unverified = Unverified(model="net", refusals=())
    table = summarise(
        rows, even({"base": [10.0, 11.0, 10.0], "int8": [4.0, 9.0, 4.0]}), Timing(), Admission(),
        stopped_by="budget", seconds=60.0, remarks=(unverified,),
    )  # fmt: skip
    assert {mark.code for row in table.cells for mark in row.marks} == {"answers-differ", "vendor-operators"}
    assert len(table.warnings) > 1
    assert not list(filter(is_sentence, texts_in(msgspec.to_builtins(table))))
