"""Which backends verify a model."""

from __future__ import annotations

from pathlib import Path

import models
import pytest

from irbench.core import registry
from irbench.features.verify.options import VerifyOptions
from irbench.features.verify.report import PlannedTrials, VerificationRequest
from irbench.features.verify.run import verify_with


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The backends that are asked to verify a model; none of them does."""
    names: list[str] = []

    def trials(asked: VerificationRequest, _scratch: Path) -> PlannedTrials:
        names.extend(map(str, asked.backends))
        return PlannedTrials((), None)

    monkeypatch.setattr("irbench.features.verify.run.trials", trials)
    monkeypatch.setattr(registry, "installed_backends", lambda: ("tf", "ort"))
    return names


def test_backends_that_cannot_read_the_model_are_left_out_with_one_line(verified: list[str], tmp_path: Path) -> None:
    heard: list[str] = []
    verify_with(VerifyOptions(str(models.mlp(tmp_path).path)), heard.append)
    assert verified == ["ort"]
    assert heard == ["not verified, because they cannot read mlp: tf"]


def test_a_backend_that_was_named_keeps_its_row(verified: list[str], tmp_path: Path) -> None:
    heard: list[str] = []
    verify_with(VerifyOptions(str(models.mlp(tmp_path).path), backends=("tf", "ort")), heard.append)
    assert (verified, heard) == (["tf", "ort"], [])


@pytest.mark.parametrize("given", ["sets", "sets/test_data_set_0"])
def test_expected_outputs_are_those_of_a_folder_of_data_sets_or_of_one(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[VerificationRequest] = []
    monkeypatch.setattr(
        "irbench.features.verify.run.trials", lambda request, _: asked.append(request) or PlannedTrials((), None)
    )
    folder = tmp_path / "sets" / "test_data_set_0"
    folder.mkdir(parents=True)
    for name in ("input_0.pb", "output_0.pb"):
        (folder / name).write_bytes(b"")
    verify_with(VerifyOptions(str(models.mlp(tmp_path).path), tmp_path / given, backends=("ort",)), lambda _: None)
    assert asked[0].data == tmp_path / given
