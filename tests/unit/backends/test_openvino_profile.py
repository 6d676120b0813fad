"""What is made of OpenVINO's counters: means of the last inferences, and the nodes in an operator."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import models
import pytest

from irbench.onnx.rewriting.bind import bind
from irbench.spec import Load
from irbench.spi import Refusal, TensorShape
from irbench_openvino import backend
from irbench_openvino.profiling import CountedRequest, mean_ns, read_graph, uncertainty_ns


def us(count: int) -> timedelta:
    return timedelta(microseconds=count)


@pytest.mark.parametrize(("before", "after", "expected"), [(10, 10, 10_500), (100, 20, 12_500), (0, 5, 5_500)])
def test_the_first_inferences_do_not_count(before: int, after: int, expected: int):
    made_before = 0 if before == 0 else 10
    made = made_before + 100
    assert mean_ns(us(before), us(after), made_before, made) == expected


def test_an_operator_that_does_nothing_takes_no_time():
    assert mean_ns(us(0), us(0), 10, 110) == 0


@pytest.mark.parametrize(("before", "after"), [(0, 0), (0, 1), (1, 1), (1, 2), (2, 1)])
def test_a_mean_is_off_by_no_more_than_is_told(before: int, after: int):
    """Means that show ``before`` and ``after`` microseconds are anything below the next one."""
    told, bound = mean_ns(us(before), us(after), 300, 600), uncertainty_ns(300, 600)
    least = (600 * 1_000 * after - 300 * 1_000 * (before + 1)) / 300
    most = (600 * 1_000 * (after + 1) - 300 * 1_000 * before) / 300
    assert bound == 1_500
    if before or after:
        assert told - max(0, least) <= bound
        assert max(0, most) - told <= bound


def test_an_operator_of_a_microsecond_that_was_once_told_as_nothing_takes_one():
    assert abs(mean_ns(us(0), us(1), 300, 600) - 1_000) <= uncertainty_ns(300, 600)


def test_rounding_never_makes_a_time_negative():
    assert mean_ns(us(1), us(0), 10, 11) == 0


def test_requests_count_their_inferences_however_they_are_started():
    made: list[str] = []
    inner = SimpleNamespace(infer=lambda: made.append("infer"), start_async=lambda: made.append("start"), model="m")
    request = CountedRequest(inner)
    request.infer()
    request.start_async()
    assert made == ["infer", "start"]
    assert (request.inferences, request.model) == (2, "m")


class Text:
    def __init__(self, value: str) -> None:
        self._value = value

    def astype(self, _: type) -> str:
        return self._value


class Shape:
    is_static = True

    def __init__(self, *sizes: int) -> None:
        self._sizes = sizes

    def to_shape(self) -> tuple[int, ...]:
        return self._sizes


class Operator:
    """An operator of a runtime graph, with one output."""

    def __init__(self, name: str, kind: str, original: str, *sources: Operator, precision: str = "f32") -> None:
        self._name, self._sources = name, sources
        self._info = {
            "originalLayersNames": Text(original),
            "layerType": Text(kind),
            "outputPrecisions": Text(precision),
        }

    def get_friendly_name(self) -> str:
        return self._name

    def get_rt_info(self) -> dict[str, Text]:
        return self._info

    def get_node(self) -> Operator:
        return self

    def get_index(self) -> int:
        return 0

    def get_partial_shape(self) -> Shape:
        return Shape(2, 16)

    def inputs(self) -> list[Any]:
        return [SimpleNamespace(get_source_output=lambda source=source: source) for source in self._sources]

    def outputs(self) -> list[Any]:
        return [self]


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return bind(models.layers(tmp_path), {"batch": 2}, tmp_path).path


def nodes_of(original: Path, *operators: Operator) -> dict[str, tuple[str, ...]]:
    graph = read_graph(SimpleNamespace(get_ordered_ops=lambda: list(operators)), original)
    return {name: operator.nodes for name, operator in graph.items()}


IMAGE = Operator("image", "Input", "image")


def test_operators_tell_the_nodes_that_were_fused_into_them(original: Path):
    conv = Operator("conv/WithoutBiases", "Convolution", "conv/WithoutBiases,conv,relu", IMAGE)
    add = Operator("positive_sum", "Eltwise", "residual_add,positive_sum", conv)
    found = nodes_of(original, IMAGE, conv, Operator("conv_bf16_f32_add", "Reorder", "", conv), add)
    assert found == {
        "image": (),
        "conv/WithoutBiases": ("conv", "relu"),
        "conv_bf16_f32_add": (),
        "positive_sum": ("residual_conv", "residual_add", "Relu of positive_sum"),
    }


def test_a_product_without_its_bias_keeps_its_name(original: Path):
    found = nodes_of(
        original, IMAGE, Operator("product/WithoutBiases", "FullyConnected", "product/WithoutBiases", IMAGE)
    )
    assert "product" in found["product/WithoutBiases"]


def test_an_operator_has_the_nodes_before_it_that_no_other_names(original: Path):
    flat = Operator("flatten", "Reshape", "flatten", IMAGE)
    found = nodes_of(original, IMAGE, flat, Operator("bias", "FullyConnected", "bias", flat))
    assert found["bias"] == ("product", "bias")


def test_a_node_that_was_taken_apart_is_in_all_of_its_parts(original: Path):
    bias = Operator("bias", "FullyConnected", "bias", IMAGE)
    mean = Operator("MVN_57", "MVN", "MVN_57", bias)
    scaled = Operator("Multiply_64", "Eltwise", "Multiply_64,normalisation", mean)
    found = nodes_of(original, IMAGE, bias, mean, scaled)
    assert found["MVN_57"] == found["Multiply_64"] == ("normalisation",)


def test_an_operator_that_openvino_added_is_no_part_of_what_it_feeds(original: Path):
    conv = Operator("conv", "Convolution", "conv,relu", IMAGE)
    again = Operator("residual_conv", "Convolution", "residual_conv", conv)
    pool = Operator("MaxPool_60", "Pooling", "MaxPool_60", again)
    found = nodes_of(original, IMAGE, conv, again, pool, Operator("sum", "Eltwise", "residual_add", pool))
    assert found["MaxPool_60"] == ()


def test_an_operator_that_lost_its_name_has_the_only_nodes_that_it_can_have(original: Path):
    bias = Operator("bias", "FullyConnected", "bias", IMAGE)
    lost = Operator("MVN_57", "MVN", "MVN_57", bias)
    turned = Operator("Transpose_60", "Transpose", "Transpose_60", lost)
    found = nodes_of(original, IMAGE, bias, lost, turned, Operator("softmax", "Softmax", "softmax", turned))
    assert found["MVN_57"] == ("normalisation",)
    assert found["softmax"] == ("softmax",)
    assert found["Transpose_60"] == ()


def test_where_several_lost_their_names_nobody_guesses(original: Path):
    bias = Operator("bias", "FullyConnected", "bias", IMAGE)
    first = Operator("Relu_1", "Subgraph", "Relu_1", bias)
    second = Operator("MVN_2", "MVN", "MVN_2", first)
    found = nodes_of(original, IMAGE, bias, first, second, Operator("softmax", "Softmax", "softmax", second))
    assert found["Relu_1"] == found["MVN_2"] == ()


def test_a_moved_transposition_is_not_the_node_whose_tensor_it_is_called_after(original: Path):
    found = nodes_of(original, IMAGE, Operator("shares", "Transpose", "shares", IMAGE))
    assert found["shares"] == ()
    assert nodes_of(original, IMAGE, Operator("scores", "Transpose", "scores", IMAGE))["scores"][-1] == "transposition"


def test_operators_tell_their_tensors(original: Path):
    product = Operator("product", "FullyConnected", "product", IMAGE, precision="bf16")
    found = read_graph(SimpleNamespace(get_ordered_ops=lambda: [IMAGE, product]), original)["product"]
    assert found.inputs == (TensorShape("float32", (2, 16)),)
    assert found.outputs == (TensorShape("bfloat16", (2, 16)),)


def test_only_the_cpu_is_profiled(tmp_path: Path):
    artifact = models.layers(tmp_path)
    with pytest.raises(Refusal, match="CPU") as caught:
        backend.compile_profiled(artifact, Load(), "gpu", lambda _: None)  # type: ignore[attr-defined]
    assert caught.value.hint
