"""Rows that are known to be impossible are refused, or failed, before any process starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import models
import pytest
from run_requests import run_request

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.requests import probes
from irbench.requests.known_refusals import without_refused_rows
from irbench.runner.plan import PlannedGroup, plan
from irbench.runner.prepare import prepare
from irbench.spec import Bundle, InputSpec, Precision
from irbench.spi import Availability

Options = Mapping[str, Mapping[str, str]]


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    artifact = models.mlp(tmp_path)
    return Bundle("mlp", tuple(InputSpec(spec) for spec in artifact.inputs), (artifact,))


def checked(
    bundle: Bundle,
    scratch: Path,
    backends: str,
    precisions: tuple[Precision, ...] = ("fp32",),
    options: Options | None = None,
    said: list[str] | None = None,
) -> tuple[PlannedGroup, ...]:
    addresses = tuple((name, "cpu") for name in backends.split(","))
    request = run_request((bundle,), addresses, precisions=precisions, set=options or {})
    return without_refused_rows(plan(request, prepare(request, scratch)), ([] if said is None else said).append)


@pytest.mark.parametrize("backend", ["ort", "openvino"])
def test_a_precision_that_no_row_can_have_is_refused_with_the_way_to_it(bundle: Bundle, tmp_path: Path, backend: str):
    with pytest.raises(IrbenchError, match="int8 only if the graph was") as caught:
        checked(bundle, tmp_path, backend, ("int8",))
    assert "--optimize int8" in caught.value.hint
    assert "MODEL" not in caught.value.hint


def test_a_precision_that_other_rows_have_is_a_failed_row(bundle: Bundle, tmp_path: Path):
    said: list[str] = []
    (group,) = checked(bundle, tmp_path, "ort,fake-a", ("fp32", "int8"), said=said)
    assert len(said) == 1
    assert said[0].startswith("warning: ort int8 is not started: ONNX Runtime computes in int8 only if")
    assert {cell: failure.stage for cell, failure in group.absent.items()} == {"ort-cpu-int8-x1": "compile"}
    assert len(group.measured) == 3


def test_what_a_backend_does_not_say_of_itself_is_left_to_its_runtime(bundle: Bundle, tmp_path: Path):
    (group,) = checked(bundle, tmp_path, "fake-a", ("int8",))
    assert not group.absent


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ort": {"graph_optimization_level": "most"}}, "cannot be 'most'"),
        ({"ort": {"cuda.prefer_nhwc": "1"}}, "option of ort:cuda"),
        ({"openvino": {"DYNAMIC_QUANTIZATION_GROUP_SIZE": "32"}}, "conflicts with `--precision fp32`"),
    ],
)
def test_options_that_leave_a_backend_no_row_are_refused_though_others_have_some(
    bundle: Bundle, tmp_path: Path, options: Options, said: str
):
    with pytest.raises(IrbenchError, match=said):
        checked(bundle, tmp_path, "ort,openvino,fake-a", options=options)


def test_options_that_contradict_one_precision_only_fail_its_row(bundle: Bundle, tmp_path: Path):
    options = {"openvino": {"DYNAMIC_QUANTIZATION_GROUP_SIZE": "32"}}
    (group,) = checked(bundle, tmp_path, "openvino", ("fp32", "native"), options)
    assert list(group.absent) == ["openvino-cpu-fp32-x1"]


@pytest.mark.parametrize(("computed", "is_refused"), [(("fp32",), True), (("fp32", "bf16"), False)])
def test_what_a_probe_found_is_known_before(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computed: tuple[str, ...], is_refused: bool
):
    found = Availability(("cpu",), {"cpu": computed}, {"cpu": "fp32"}, {})
    monkeypatch.setattr(probes, "remembered", lambda description: found if description.name == "fake-a" else None)
    if not is_refused:
        assert not checked(bundle, tmp_path, "fake-a", ("bf16",))[0].absent
        return
    with pytest.raises(IrbenchError, match="fake-a does not compute in bf16 on this machine, but in fp32") as caught:
        checked(bundle, tmp_path, "fake-a", ("bf16",))
    assert "irbench backends --probe" in caught.value.hint


def test_checking_imports_no_runtime():
    import subprocess
    import sys

    names = ", ".join(repr(name) for name in registry.installed_backends() if not name.startswith("fake"))
    script = f"""
import sys
from irbench.core import registry
from irbench.spec import Load
for name in ({names},):
    registry.backend(name).check_load(Load(), "cpu", "fp32")
assert not {{"onnxruntime", "openvino", "tensorflow"}} & set(sys.modules), sorted(sys.modules)
"""
    checking = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert checking.returncode == 0, checking.stderr
