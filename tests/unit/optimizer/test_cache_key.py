"""The key of a result changes with everything that decides it."""

from __future__ import annotations

from dataclasses import replace
from importlib import metadata

import pytest

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.optimizer import Conversion, Recipe, cache_key
from irbench.optimizer.cache_key import Tools, key_of
from irbench.optimizer.calibration_samples import CheckInputs
from irbench.spec import Bundle, Feeding, InputSpec, TensorSpec
from irbench.spi import Description

TENSOR = TensorSpec("x", "float32", ("batch", 3))
BUNDLE = Bundle("m", (InputSpec(TENSOR),), ())
ASKED = Recipe("none-int8", ("fake-harmless",), Conversion("int8"))


TOOLS = Tools({"onnx": "1"}, "ort", "ort")


def key_for(bundle: Bundle = BUNDLE, tools: Tools = TOOLS) -> str:
    return key_of("source", bundle, {}, ASKED, tools)


@pytest.mark.parametrize(
    "other",
    [
        replace(BUNDLE, seed=1),
        replace(BUNDLE, inputs=(InputSpec(TENSOR, low=-1.0),)),
        replace(BUNDLE, inputs=(InputSpec(TENSOR, high=2.0),)),
        replace(BUNDLE, defaults={"length": 7}),
        replace(BUNDLE, classifier=True),
        replace(BUNDLE, class_axes=(None, 1)),
    ],
)
def test_what_a_graph_is_calibrated_and_judged_on_decides(other: Bundle) -> None:
    assert key_for(other) != key_for() == key_for(replace(BUNDLE, name="other"))


def test_data_and_constants_decide() -> None:
    given = [
        CheckInputs(Feeding(), {}),
        CheckInputs(Feeding(values={"x": (1,)}), {}),
        CheckInputs(Feeding(sha256={"x": "ab"}), {"batch": 2}),
        CheckInputs(Feeding(sha256={"x": "cd"}), {"batch": 2}),
        CheckInputs(Feeding(sha256={"x": "cd"}, source="elsewhere"), {"batch": 2}),
    ]
    keys = [key_of("source", BUNDLE, {}, ASKED, TOOLS, inputs) for inputs in given]
    assert keys[0] == key_for()
    assert keys[3] == keys[4]
    assert len(set(keys)) == 4


class _Distribution:
    name = "someones-passes"

    def __init__(self, version: str) -> None:
        self.version = version


def test_the_version_of_the_distribution_that_brings_a_pass_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = set[str]()
    for version in ("1.0", "1.1"):
        point = metadata.EntryPoint("fake-harmless", "fake_passes:harmless", registry.PASSES)
        vars(point).update(dist=_Distribution(version))
        monkeypatch.setattr(registry, "entry_point", lambda *_, point=point: point)
        keys.add(key_for())
    assert len(keys) == 2


CODE = ["onnx/one.py", "optimizer/one.py"]
CODE += ["optimizer/passes/one.py", "optimizer/pass_tools/one.py"]
CODE += ["core/feeds.py", "core/output_check.py", "worker/inference.py", "worker/reference_answers.py"]


@pytest.mark.parametrize("written", CODE)
def test_the_code_that_makes_and_judges_a_graph_decides(
    written: str, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irbench.__file__", str(tmp_path / "__init__.py"))
    path = tmp_path / written
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = set[str]()
    for text in ("x = 1", "x = 2"):
        path.write_text(text)
        cache_key.digest_of_code.cache_clear()
        keys.add(key_for())
    cache_key.digest_of_code.cache_clear()
    assert len(keys) == 2


@pytest.mark.parametrize(
    "other",
    [
        replace(TOOLS, reference="onnx"),
        replace(TOOLS, versions={"onnx": "2"}),
        replace(TOOLS, quantizer=None),
    ],
)
def test_what_a_recipe_is_carried_out_with_decides(other: Tools) -> None:
    assert key_for(tools=other) != key_for()


def test_the_code_of_the_quantizer_decides(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "quantizer_of_someone"
    package.mkdir()
    (package / "__init__.py").touch()
    points = {registry.QUANTIZERS: metadata.EntryPoint("ort", "quantizer_of_someone:quantizer", registry.QUANTIZERS)}
    find = registry.entry_point
    monkeypatch.setattr(registry, "entry_point", lambda group, name: points.get(group) or find(group, name))
    keys = set[str]()
    for text in ("x = 1", "x = 2"):
        (package / "rounding.py").write_text(text)
        keys.add(key_for())
    assert len(keys) == 2


class _Runtime:
    def __init__(self, kind: str, version: str) -> None:
        self.consumes = (kind,)
        self._version = version

    def describe(self) -> Description:
        return Description("someones", "someones-runtime", self._version)


@pytest.mark.parametrize(("kind", "different"), [("onnx", 2), ("tf-graph", 1)])
def test_the_version_of_a_runtime_that_may_answer_decides(
    kind: str, different: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = set[str]()
    for version in ("1.0", "1.1"):
        runtime = _Runtime(kind, version)
        monkeypatch.setattr(registry, "load_all", lambda _, runtime=runtime: {"someones": runtime})
        monkeypatch.setattr(registry, "backend", lambda _, runtime=runtime: runtime)
        keys.add(key_for())
    assert len(keys) == different


def test_the_module_of_a_pass_decides(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    point = metadata.EntryPoint("fake-harmless", "passes_of_someone:harmless", registry.PASSES)
    monkeypatch.setattr(registry, "entry_point", lambda *_: point)
    keys = {key_for()}
    for text in ("x = 1", "x = 2"):
        (tmp_path / "passes_of_someone.py").write_text(text)
        keys.add(key_for())
    assert len(keys) == 3


def test_an_unknown_pass_is_refused_by_name() -> None:
    with pytest.raises(IrbenchError, match="no pass 'nonsense'"):
        key_of("source", BUNDLE, {}, Recipe("custom", ("nonsense",)), TOOLS)
