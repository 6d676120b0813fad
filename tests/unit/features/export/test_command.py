"""What ``irbench export`` shows while it works, and what stays on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.features.export import command as export
from irbench.features.export.run import ExportedModel, ExportListener
from irbench.options.export import ExportOptions
from irbench.options.input_request import InputRequest
from irbench.spec import Bundle


@pytest.mark.parametrize(("details", "said"), [({"activation_problems": "dense gives only zeros"}, True), ({}, False)])
def test_what_is_unusual_in_a_model_stays_on_the_screen(
    details: dict[str, str], said: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"nodes": 3, "bytes": 10, "max_rel_error": 0.0, **details}

    def made(model: str, _options: ExportOptions, _listener: ExportListener, _inputs: InputRequest) -> ExportedModel:
        return ExportedModel(Bundle(model, (), (), details=facts), Path("bundle"), 1.0)

    monkeypatch.setattr("irbench.features.export.run.export_with", made)
    export.export_model("tiny", ExportOptions(), InputRequest())
    assert ("warning tiny: dense gives only zeros" in capsys.readouterr().err) is said
