"""No file with hostile values leads to more than an answer or a refusal; the fuzzer notices where one does."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structural_fuzz import judging
from structural_fuzz.cases import KINDS, Call
from structural_fuzz.fuzzing import Laboratory, laboratory
from structural_fuzz.hostile_values import OUTSIDE
from structural_fuzz.judging import judge

from irbench.errors import IrbenchError

_EXAMPLES = max(50, settings().max_examples)
"""Of each kind: 500 together in ``make test-ci``, and 10,000 in ``make test-laws``."""


@pytest.fixture(scope="module")
def room() -> Iterator[Laboratory]:
    with laboratory() as found:
        yield found


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=_EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(chance=st.randoms(use_true_random=False))
def test_a_file_with_hostile_values_is_answered_or_refused(room: Laboratory, kind: str, chance: random.Random) -> None:
    finding = room.examine(kind, chance)
    assert finding is None, str(finding)


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_make_equal_files_and_others_do_not(kind: str, tmp_path: Path) -> None:
    def made(name: str, seed: int) -> list[tuple[str, bytes]]:
        folders = [tmp_path / name / str(number) for number in range(5)]
        for number, folder in enumerate(folders):
            folder.mkdir(parents=True)
            KINDS[kind](folder, random.Random(f"{seed}/{number}"))
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file() and not path.is_symlink())
        return [(path.relative_to(tmp_path / name).as_posix(), path.read_bytes()) for path in files]

    first = made("first", 1)
    assert first
    if kind != "card":  # its reference outputs are a ZIP file, which holds the time
        assert first == made("again", 1)
    assert first != made("other", 2)


def fails() -> object:
    raise KeyError("a field")


def hangs() -> object:
    while True:
        time.sleep(0.01)  # noqa: TID251 - a hang is what is looked for


def takes_memory() -> object:
    return bytearray(8 << 30)


def refuses() -> object:
    raise IrbenchError("It is damaged.", hint="Copy it again.")


FAULTS = {
    "uncaught": Call(("read",), function=fails),
    "memory": Call(("read",), function=takes_memory),
    "hung": Call(("read",), function=hangs),
    "written outside": Call(("read",), function=lambda: Path("../escaped").touch()),
    "exit code": Call(("--version",), codes={2}),
    "control character": Call(("read", "--format", "json"), function=lambda: click.echo("\x1b[2J", color=True)),
    "traceback": Call(("read",), function=lambda: click.echo("Traceback (most recent call last):")),
}


@pytest.mark.ci
@pytest.mark.parametrize("rule", FAULTS)
def test_the_judge_finds_what_no_file_may_lead_to(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_DEADLINE_S", 1)
    folder = tmp_path / "case"
    folder.mkdir()
    finding = judge([Call(("read",), function=refuses), FAULTS[rule]], folder)
    assert finding is not None
    assert finding.rule == rule


def test_an_answer_and_a_refusal_are_no_findings(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    assert judge([Call(("--version",)), Call(("show", "nothing"))], folder) is None
    assert not os.path.lexists(OUTSIDE)
