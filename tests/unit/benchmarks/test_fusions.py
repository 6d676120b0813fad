from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.fusions import main
from benchmarks.workbench import CommandFailed, Workbench


def test_a_table_that_fails_is_a_row_with_its_reason_and_the_others_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def fail(_bench: Workbench, *arguments: Any, **_how: Any) -> None:
        asked.append(arguments)
        raise CommandFailed("python ended with 2: no such model")

    monkeypatch.setattr(Workbench, "run", fail)
    called = CliRunner().invoke(main, ["--only", "vit_tiny", "--budget", "7s", "-o", str(tmp_path / "f.md")])
    assert called.exit_code == 1
    assert [item[item.index("--backends") + 1] for item in asked] == ["ort", "openvino"]
    assert all(item[item.index("--budget") + 1] == "7s" for item in asked)
    for shown in (called.stdout, (tmp_path / "f.md").read_text()):
        assert shown.count("python ended with 2: no such model") >= 2
