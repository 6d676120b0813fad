"""What the coordinator takes from a reading of an ONNX file, and opens."""

from __future__ import annotations

from pathlib import Path

import hostile_files as hostile
import pytest

from irbench.errors import IrbenchError
from irbench.features.cold.run import files_read
from irbench.optimizer.lineage import digest_of_source
from irbench.runner import prepare
from irbench.spec import Artifact
from irbench.worker import requested_confinement
from irbench.worker.model_files import read_external_files, require_sound_weights


def test_weights_beside_a_file_are_found_and_counted(tmp_path: Path) -> None:
    artifact = Artifact("onnx", hostile.with_external()(tmp_path), (), ())
    assert read_external_files(artifact.path) == ("weights.bin",)
    files = prepare.with_graph_files(artifact).files
    assert files is not None
    assert files.size_bytes > (tmp_path / "weights.bin").stat().st_size


@pytest.mark.parametrize("location", ["/dev/zero", "../secret", "link", "/"])
def test_weights_elsewhere_are_opened_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "secret").write_text("a secret")
    (tmp_path / "model" / "link").symlink_to("../secret")
    artifact = Artifact("onnx", hostile.with_external(location=location)(tmp_path / "model"), (), ())
    monkeypatch.setattr(prepare, "digest", lambda *_, **__: pytest.fail("a file was opened"))
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    monkeypatch.setattr(requested_confinement, "require_confinement", lambda: None)
    assert prepare.with_graph_files(artifact).files is None
    for reading in (
        lambda: read_external_files(artifact.path),
        lambda: require_sound_weights(artifact.path),
        lambda: files_read(artifact, ()),
        lambda: digest_of_source(artifact),
        lambda: requested_confinement.confinement_to(artifact),
    ):
        with pytest.raises(IrbenchError, match=r"outside its own folder|symbolic link"):
            reading()
