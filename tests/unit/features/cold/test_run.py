"""What a cold start empties: the files that a row reads, and the folders in which runtimes keep what they compiled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import models
import onnx
import pytest

from irbench.core import registry
from irbench.features.cold.run import caches_in, files_read, with_caches_in
from irbench.spec import Cell, Load
from irbench.spi import Description


def test_a_cell_reads_what_its_process_saw_and_its_model(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    seen = tmp_path / "library.so"
    seen.touch()
    assert files_read(artifact, [str(seen), str(seen), "/gone.so"]) == tuple(sorted((artifact.path, seen)))


def test_weights_in_other_files_are_a_part_of_the_model(tmp_path: Path):
    artifact = models.mlp(tmp_path)
    loaded = onnx.load(artifact.path)
    onnx.save(loaded, artifact.path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert files_read(artifact, ()) == tuple(sorted((artifact.path, tmp_path / "weights.bin")))


def test_every_file_of_a_folder_is_a_part_of_the_model(tmp_path: Path):
    (tmp_path / "variables").mkdir()
    files = tmp_path / "saved_model.pb", tmp_path / "variables" / "data"
    for file in files:
        file.touch()
    folder = replace(models.mlp(tmp_path / "variables"), kind="tf-graph", path=tmp_path)
    assert set(files) < set(files_read(folder, ()))


def test_an_option_that_names_a_cache_of_compiled_code_gets_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    described = Description("openvino", "openvino", "1", cache_folders=("CACHE_DIR",))
    monkeypatch.setattr(registry, "describe", lambda kind, name: described)
    given = Cell("a", None, "openvino", "cpu", Load(options={"CACHE_DIR": "/mine", "LOG_LEVEL": "1"}))
    found = with_caches_in(given, tmp_path)
    assert found.load.options == {"CACHE_DIR": str(tmp_path), "LOG_LEVEL": "1"}
    plain = replace(given, load=Load())
    assert with_caches_in(plain, tmp_path) == plain


def test_caches_that_the_environment_names_are_in_a_folder_of_the_launch(tmp_path: Path):
    found = caches_in(tmp_path / "new")
    assert set(found.values()) == {str(tmp_path / "new")}
    assert (tmp_path / "new").is_dir()
    assert "CUDA_CACHE_PATH" in found
