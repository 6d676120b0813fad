"""An export that does not end is ended, and says what else can be done."""

from __future__ import annotations

from pathlib import Path

import pytest
from front_door import irbench_here

pytestmark = pytest.mark.ci


def test_an_export_that_does_not_end_is_ended_at_its_deadline(tmp_path: Path) -> None:
    pytest.importorskip("irbench_tf")
    source = tmp_path / "endless.py"
    source.write_text("import signal\n\n\ndef build():\n    signal.pause()\n")
    called = irbench_here("export", f"{source}:build", "--deadline", "2s")
    assert called.code == 2
    assert called.err.count("error: ") == 1
    assert "It gave no answer within 2 s" in called.err
    assert "hint: Nothing was kept. Give more time with --deadline" in " ".join(called.err.split())
