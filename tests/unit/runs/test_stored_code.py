"""What a stored plan may name where it is measured again."""

from __future__ import annotations

import pytest

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.options.run import RunOptions
from irbench.runs.stored_code import environments_obstacle, own_code_obstacle, refuse_stored_folders
from irbench.spi import Description


@pytest.mark.parametrize(
    "stored",
    [
        RunOptions(set={"openvino": {"CACHE_DIR": "/home/you"}}),
        RunOptions(vary={"openvino": {"CACHE_DIR": ("a", "/home/you")}}),
    ],
    ids=["set", "varied"],
)
def test_a_stored_plan_chooses_no_folder_for_a_confined_model(
    monkeypatch: pytest.MonkeyPatch, stored: RunOptions
) -> None:
    monkeypatch.delenv("IRBENCH_CONFINE", raising=False)
    refuse_stored_folders(stored)
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    refuse_stored_folders(RunOptions(set={"ort": {"intra_op.allow_spinning": "1"}}))
    with pytest.raises(IrbenchError, match="/home/you"):
        refuse_stored_folders(stored)


@pytest.mark.parametrize("value", ["", "7"])
def test_options_that_name_no_file_are_no_obstacle(value: str) -> None:
    assert own_code_obstacle(RunOptions(set={"openvino": {"CACHE_DIR": "", "KEY_CACHE_GROUP_SIZE": value}})) is None


@pytest.mark.parametrize(
    ("requirement", "python", "is_foreign"),
    [
        ("onnxruntime==1.22.0", "/cache/bin/python", False),
        ("", None, False),
        ("", "/tmp/bin/python", True),
        ("/tmp/onnxruntime-1.22.0-py3-none-any.whl", "/cache/bin/python", True),
        ("another-package==1.0", "/cache/bin/python", True),
        ("onnxruntime=/../../tmp/evil", "/cache/bin/python", True),
        ("onnxruntime~/x/python", "/cache/bin/python", True),
        ("onnxruntime>=1.22", "/cache/bin/python", True),
    ],
    ids=["release", "installed", "python", "wheel", "package", "hidden path", "home", "bounds"],
)
def test_a_stored_plan_starts_no_python_and_installs_no_package_of_its_own(
    requirement: str, python: str | None, is_foreign: bool
) -> None:
    found = environments_obstacle([{"requirement": requirement, "python": python}])
    assert (found is not None) is is_foreign


@pytest.mark.parametrize(
    ("files", "value", "is_foreign"),
    [
        (None, "plugin.so", True),
        (None, "1", True),
        (None, "", False),
        ((), "plugin", False),
        (("other",), "plugin", False),
        (("library",), "plugin", True),
    ],
)
def test_an_option_of_a_backend_that_does_not_say_which_name_files_may_name_one(
    files: tuple[str, ...] | None, value: str, is_foreign: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = Description("someones", "someones-runtime", "1", files=files)
    monkeypatch.setattr(registry, "names", lambda _: ("someones",))
    monkeypatch.setattr(registry, "describe", lambda *_: described)
    found = own_code_obstacle(RunOptions(set={"someones:gpu": {"library": value}}))
    assert (found is not None) is is_foreign


def test_the_backends_of_irbench_say_which_options_name_files() -> None:
    for name in ("tf", "tf-xla", "ort", "openvino"):
        assert registry.describe(registry.BACKENDS, name).files is not None
