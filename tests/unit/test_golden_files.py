"""A golden file that differs is a failure that says how it differs and how it is written again."""

from __future__ import annotations

from pathlib import Path

import golden_files
import pytest


def test_a_text_that_differs_is_shown_with_the_command_that_writes_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("IRBENCH_UPDATE_GOLDEN", raising=False)
    monkeypatch.setattr(golden_files, "_FOLDER", tmp_path)
    (tmp_path / "sentence.txt").write_text("as it was\n")
    golden_files.check_golden("sentence", "as it was\n")
    with pytest.raises(AssertionError) as caught:
        golden_files.check_golden("sentence", "as it is\n")
    said = str(caught.value)
    assert "IRBENCH_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/unit/test_golden_files.py" in said
    assert {"-as it was", "+as it is"} <= {line.strip() for line in said.splitlines()}
