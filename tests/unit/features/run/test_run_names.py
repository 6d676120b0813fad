"""A run is named by a text, a folder, or what another call returned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from stored_runs import measured

import irbench
from irbench.errors import IrbenchError
from irbench.options.values import run_name


def test_a_text_and_a_folder_are_taken_as_they_are(tmp_path: Path) -> None:
    assert run_name("nightly") == "nightly"
    assert run_name(tmp_path) == str(tmp_path)


def test_what_other_calls_return_names_the_run(tmp_path: Path) -> None:
    run_id = measured(tmp_path).document.run_id
    (entry,) = irbench.results(results=tmp_path)
    run = irbench.load(entry, results=tmp_path)
    assert run.id == irbench.load(run).id == run_id
    assert [row.verdict for row in irbench.compare(entry, run, results=tmp_path).rows]
    (folder,) = irbench.export_runs(run, tmp_path / "run.tar.gz", results=tmp_path)
    assert folder == run.folder.resolve()


@pytest.mark.parametrize("wrong", [7, 2.5, object()])
def test_anything_else_is_refused(wrong: Any) -> None:
    with pytest.raises(IrbenchError, match=f"A value of type {type(wrong).__name__} is not a run") as caught:
        irbench.load(wrong)
    assert caught.value.hint.startswith("Give its name")
