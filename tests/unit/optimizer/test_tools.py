"""What a recipe needs is found, or refused with the command that installs it."""

from __future__ import annotations

from importlib import metadata

import pytest

from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.optimizer import Conversion, Recipe
from irbench.optimizer.cache_key import find_tools, require_operators
from irbench.spi import Description

PASSES_ONLY = Recipe("custom", ("fake-harmless",))
FP16 = Recipe("none-fp16", (), Conversion("fp16"))
INT8 = Recipe("none-int8", (), Conversion("int8"))
VENDORS = Recipe("custom", ("fake-harmless", "fake-vendors"))

DISTRIBUTIONS = {"onnx": "2", "onnx_ir": "3", "onnxscript": "4"}


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    def version(name: str) -> str:
        try:
            return versions[name.replace("-", "_")]
        except KeyError:
            raise metadata.PackageNotFoundError(name) from None

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr("irbench_ort.adapter.version", version)
    monkeypatch.setattr("irbench.onnx.evaluator.version", version)


@pytest.mark.parametrize("runtime", ["onnxruntime", "onnxruntime-gpu"])
def test_any_distribution_that_brings_onnx_runtime_will_do(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, **DISTRIBUTIONS, **{runtime.replace("-", "_"): "5"})
    tools = find_tools(INT8)
    assert (tools.versions[runtime], tools.reference, tools.quantizer) == ("5", "ort", "ort")


@pytest.mark.parametrize("asked", [PASSES_ONLY, FP16])
def test_only_int8_needs_a_quantizer(asked: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, **DISTRIBUTIONS)
    tools = find_tools(asked)
    assert (tools.reference, tools.quantizer) == ("onnx", None)
    with pytest.raises(IrbenchError, match="Converting to int8 needs onnxruntime, which is not installed") as caught:
        find_tools(INT8)
    assert caught.value.hint.startswith("Install it with: pip install 'onnxruntime>=")
    assert caught.value.exit_code == ExitCode.NOT_INSTALLED


def test_int8_without_any_quantizer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "names", lambda group: () if group == registry.QUANTIZERS else ("ort",))
    with pytest.raises(IrbenchError, match="Converting to int8 needs a quantizer") as caught:
        find_tools(INT8)
    assert caught.value.exit_code == ExitCode.NOT_INSTALLED


def test_a_missing_tool_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, irbench="1", onnx="2", onnxruntime="5")
    with pytest.raises(IrbenchError, match="Optimising needs onnx-ir, which is not installed") as caught:
        find_tools(PASSES_ONLY)
    assert caught.value.hint.startswith("Install it with: pip install 'onnxscript>=")
    assert " 'onnx-ir>=" in caught.value.hint
    assert caught.value.exit_code == ExitCode.NOT_INSTALLED


def test_a_vendors_operators_need_a_reference_that_runs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    require_operators(VENDORS, "ort")
    require_operators(PASSES_ONLY, "onnx")
    installed(monkeypatch, **DISTRIBUTIONS)
    with pytest.raises(IrbenchError, match="The pass fake-vendors needs onnxruntime, which is not installed") as caught:
        require_operators(VENDORS, "onnx")
    assert caught.value.hint.startswith("Install it with: pip install 'onnxruntime>=")


class _Plain:
    def describe(self) -> Description:
        return Description("plain", "plain-runtime", "1")


def test_a_vendors_operators_that_no_reference_runs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "load_all", lambda _: {"plain": _Plain()})
    with pytest.raises(IrbenchError, match="which no installed reference can run"):
        require_operators(VENDORS, "onnx")
