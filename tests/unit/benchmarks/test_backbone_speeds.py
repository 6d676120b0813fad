from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.backbone_speeds import main
from benchmarks.workbench import CommandFailed, Finished, Workbench
from irbench.store.card import CARD

CALLS = list[tuple[Any, ...]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> CALLS:
    """Have exports write a card and runs fail, and return what was called."""
    calls: CALLS = []

    def call(_bench: Workbench, *arguments: Any, **_how: Any) -> Finished:
        calls.append(arguments)
        if arguments[1] == "export":
            Path(arguments[-1]).mkdir(parents=True)
            (Path(arguments[-1]) / CARD).touch()
        if arguments[1] == "run":
            raise CommandFailed("irbench ended with 3: no memory")
        return Finished(1.0, "")

    monkeypatch.setattr(Workbench, "run", call)
    return calls


def test_preparing_exports_once_and_optimises_at_every_level(asked: CALLS, tmp_path: Path):
    for _ in range(2):
        called = CliRunner().invoke(main, ["--only", "bert", "--models", str(tmp_path), "--prepare"])
        assert called.exit_code == 0, called.output
    assert [call[1] for call in asked] == ["export", *["optimize"] * 3, *["optimize"] * 3]
    assert [call[call.index("--level") + 1] for call in asked[1:4]] == ["basic", "extended", "all"]
    assert all("sequence=128" in call for call in asked[1:])
    assert asked[0][2].endswith("backbone_sizes.py:bert")


def test_preparing_needs_a_folder_that_stays(asked: CALLS):
    called = CliRunner().invoke(main, ["--prepare"])
    assert called.exit_code == 2
    assert "--models FOLDER" in called.output
    assert not asked


def test_a_table_that_fails_is_a_row_with_its_reason_and_the_others_are_asked_for(asked: CALLS, tmp_path: Path):
    page = tmp_path / "speeds.md"
    asked_for = ["--only", "swin", "--models", str(tmp_path / "models"), "--budget", "7s", "-o", str(page)]
    called = CliRunner().invoke(main, asked_for)
    assert called.exit_code == 1
    runs = [call for call in asked if call[1] == "run"]
    assert [call[call.index("--backends") + 1] for call in runs] == ["ort", "openvino"]
    assert all(call[call.index("--optimize") + 1] == "none,basic,extended,all" for call in runs)
    assert all(call[call.index("--budget") + 1] == "7s" for call in runs)
    for shown in (called.stdout, page.read_text()):
        assert shown.count("irbench ended with 3: no memory") == 2
