"""No file, however broken, brings irbench down: what does is kept with its seed, so that it can be made again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fuzz import cases, fuzz, through_the_front_door

_SEED = 0


def test_equal_seeds_make_equal_files_and_others_do_not() -> None:
    first = [case.files for case in cases(40, _SEED)]
    assert first == [case.files for case in cases(40, _SEED)]
    assert first != [case.files for case in cases(40, _SEED + 1)]


@pytest.mark.parametrize("count", [pytest.param(40, marks=pytest.mark.ci), pytest.param(400, marks=pytest.mark.slow)])
def test_no_broken_file_brings_irbench_down(count: int, tmp_path: Path) -> None:
    keep = Path(os.environ.get("IRBENCH_FUZZ_KEEP", tmp_path))
    findings = list(fuzz(count, _SEED, keep))
    failed = [
        f"{finding.case.name} of seed {_SEED}: {finding.outcome.said}"
        for finding in findings
        if finding.outcome.forbidden
    ]
    assert not failed, f"{failed}, kept in {keep}"
    assert {finding.outcome.intake for finding in findings} == {"refused", "accepted"}
    assert any("right" in finding.outcome.backends.values() for finding in findings)


@pytest.mark.parametrize("every", [20, pytest.param(2, marks=pytest.mark.slow)])
def test_a_broken_file_is_one_line_or_a_row_through_the_front_door(every: int, tmp_path: Path) -> None:
    problems = {case.name: through_the_front_door(case, tmp_path) for case in list(cases(40, _SEED))[::every]}
    assert not any(problems.values()), problems
