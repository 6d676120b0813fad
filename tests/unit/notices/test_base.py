"""A code is written and read as one class, with the facts that it declares."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import msgspec
import pytest
from documents import cell, document, group

from irbench.errors import IrbenchError
from irbench.notices import AnyMark, AnyNote, AnyWarn, Mark, Note, Warn
from irbench.notices.base import Notice
from irbench.notices.warnings import BusyMachine, CpuQuota, ManyDirtyBlocks
from irbench.store.run_document import decode_document, encode_document

FAMILIES = {Warn: AnyWarn, Note: AnyNote, Mark: AnyMark}
KINDS = [(family, kind) for family in FAMILIES for kind in family.known]


@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_a_notice_is_read_as_it_was_written(family: Any, kind: type[Notice]):
    shown = kind.example()
    written = msgspec.json.encode(shown)
    assert json.loads(written)["code"] == kind.code
    assert msgspec.json.decode(written, type=FAMILIES[family]) == shown


@pytest.mark.parametrize(("family", "kind"), KINDS)
def test_a_notice_may_go_to_another_process(family: Any, kind: type[Notice]):
    shown = kind.example()
    assert pickle.loads(pickle.dumps(shown)) == copy.deepcopy(shown) == shown


def test_a_notice_is_a_code_with_its_facts():
    assert msgspec.to_builtins(CpuQuota(seconds=1.2, blocks=9)) == {
        "code": "cpu-quota",
        "facts": {"seconds": 1.2, "blocks": 9},
    }


def test_a_fact_that_has_its_default_is_left_out():
    assert msgspec.to_builtins(BusyMachine(foreign_share=0.3, processors=2)) == {
        "code": "busy-machine",
        "facts": {"foreign_share": 0.3, "processors": 2},
    }
    assert ManyDirtyBlocks.example().foreign_share is None


def test_a_notice_cannot_be_changed():
    with pytest.raises(AttributeError):
        CpuQuota.example().seconds = 2.0


def stored_with(**changes: Any) -> bytes:
    plain = json.loads(encode_document(document(group(cell("ort"), warnings=(CpuQuota(seconds=1.2, blocks=9),)))))
    (warning,) = plain["groups"][0]["warnings"]
    warning.update(changes)
    return json.dumps(plain).encode()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"code": "nonsense"}, "the value at groups[0].warnings[0].code is not of the type that it must have"),
        (
            {"facts": {"seconds": 1.2, "blocks": "nine"}},
            "the value at groups[0].warnings[0].facts.blocks is not of the type that it must have",
        ),
        ({"facts": {"seconds": 1.2}}, "the field blocks at groups[0].warnings[0].facts is missing"),
    ],
)
def test_a_document_whose_codes_or_facts_do_not_fit_is_damaged(changes: Any, said: str):
    with pytest.raises(IrbenchError) as caught:
        decode_document(stored_with(**changes), "run.json")
    assert said in caught.value.message
