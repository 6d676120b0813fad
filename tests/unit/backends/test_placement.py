"""Where TensorFlow and OpenVINO put the operations of a graph, on devices that this machine lacks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from irbench.spi import Refusal
from irbench_openvino import precision as openvino_placement
from irbench_tf import compiler as tf_placement

GPU, CPU = (f"/job:localhost/replica:0/task:0/device:{name}:0" for name in ("GPU", "CPU"))


def graph(device: str, *operators: str) -> SimpleNamespace:
    return SimpleNamespace(node=[SimpleNamespace(op=operator, device=device) for operator in operators])


def test_operations_of_tensorflow_on_the_cpu_are_counted_but_not_what_only_hands_values_on() -> None:
    partitions = [graph(GPU, "Conv2D", "Relu", "Const", "_Recv"), graph(CPU, "Unique", "Const", "_Send", "_Retval")]
    assert tf_placement.placement_facts(partitions, "gpu") == {
        "nodes": 3, "nodes_elsewhere": 1, "operators_elsewhere": "Unique",
    }  # fmt: skip


def test_a_graph_of_tensorflow_that_is_whole_on_the_gpu_has_nothing_elsewhere() -> None:
    assert tf_placement.placement_facts([graph(GPU, "Conv2D")], "gpu") == {"nodes": 1, "nodes_elsewhere": 0}


class Compiled:
    def __init__(self, *devices: str) -> None:
        self._devices = devices

    def get_property(self, name: str) -> list[str]:
        assert name == "EXECUTION_DEVICES"
        return list(self._devices)

    def get_runtime_model(self) -> SimpleNamespace:
        return SimpleNamespace(get_ops=lambda: ["x", "mm", "y"])


def test_openvino_runs_a_model_whole_on_a_device() -> None:
    assert openvino_placement.placement_facts(Compiled("GPU.0"), "GPU") == {"nodes": 3, "nodes_elsewhere": 0}


def test_a_model_that_openvino_runs_on_another_device_too_is_refused() -> None:
    with pytest.raises(Refusal, match=r"runs this model on GPU\.0, CPU"):
        openvino_placement.placement_facts(Compiled("GPU.0", "CPU"), "GPU")
