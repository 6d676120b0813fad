"""The command that installs what is missing."""

from __future__ import annotations

from importlib import metadata

import pytest

from irbench.spi import install_command

REQUIREMENTS = [
    "numpy>=2.1",
    "onnx-ir>=1.1; extra == 'optimize'",
    "onnxruntime>=1.22; extra == 'all'",
    "tensorflow[and-cuda]<2.22,>=2.21; (sys_platform == 'linux') and extra == 'all-gpu'",
    "tensorflow<2.22,>=2.21; extra == 'tensorflow'",
]


@pytest.mark.parametrize(
    ("names", "command"),
    [
        (("onnxruntime",), "pip install 'onnxruntime>=1.22'"),
        (("tensorflow", "onnx_ir"), "pip install 'tensorflow<2.22,>=2.21' 'onnx_ir>=1.1'"),
        (("else",), "pip install else"),
    ],
)
def test_versions_are_those_of_irbenchs_extras(
    names: tuple[str, ...], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _name: REQUIREMENTS)
    assert install_command(*names) == command


def test_without_metadata_the_names_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert install_command("onnxruntime") == "pip install onnxruntime"
