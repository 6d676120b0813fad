"""Models that are named to the exporter of TensorFlow: what is said where one cannot be imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench_tf.loading import sources


@pytest.mark.ci
def test_a_file_that_imports_its_own_package_is_to_be_named_as_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "own_package" / "nets"
    package.mkdir(parents=True)
    (package / "net.py").write_text("from own_package.nets.sizes import SIZE\n\ndef build():\n    return SIZE\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IrbenchError, match="No module named 'own_package'") as caught:
        sources.load("own_package/nets/net.py:build")
    assert caught.value.hint.endswith(f"in {tmp_path}, write own_package.nets.net:FUNCTION.")


@pytest.mark.ci
def test_a_file_that_imports_something_else_in_vain_is_to_be_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.py").write_text("import not_installed_at_all\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IrbenchError, match="not_installed_at_all") as caught:
        sources.load("net.py:build")
    assert "must be importable" in caught.value.hint
