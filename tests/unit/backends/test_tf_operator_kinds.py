"""Every operator that a profile of TensorFlow can show has a class, by the registry of the installed TensorFlow."""

from __future__ import annotations

import pytest

from irbench.onnx.operator_classes import OperatorClass
from irbench_tf.adapter import TENSORFLOW_KINDS, XLA_KINDS

_MADE_BY_REWRITERS = ("Fused", "Mkl", "Quantized")
"""What is in the names of operators that TensorFlow makes when it fuses, or hands work to oneDNN."""


@pytest.fixture(scope="module")
def registered() -> frozenset[str]:
    pytest.importorskip("tensorflow")  # where it is asked for: tests are collected without it
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    operators = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return frozenset(operator.name for operator in operators.op)


@pytest.fixture(scope="module")
def on_cpu() -> frozenset[str]:
    from tensorflow.python.framework import kernels

    return frozenset(kernel.op for kernel in kernels.get_all_registered_kernels().kernel if kernel.device_type == "CPU")


@pytest.mark.ci
def test_every_operator_that_tensorflow_makes_itself_has_a_class(
    registered: frozenset[str], on_cpu: frozenset[str]
) -> None:
    own = {name for name in registered if name.startswith("_")}
    made = {name for name in own if name in on_cpu or any(part in name for part in _MADE_BY_REWRITERS)}
    assert len(made) > 100
    assert made <= TENSORFLOW_KINDS.keys()


@pytest.mark.ci
def test_every_operator_that_can_be_exported_has_a_class(registered: frozenset[str]) -> None:
    pytest.importorskip("tf2onnx.tfonnx")  # which registers what it can export
    from tf2onnx.handler import tf_op as handlers

    exportable = {name for versions in handlers._OPSETS.values() for handled in versions for name in handled}
    assert len(exportable & registered) > 200
    assert exportable & registered <= TENSORFLOW_KINDS.keys()


@pytest.mark.ci
def test_no_operator_has_a_class_that_tensorflow_does_not_know(registered: frozenset[str]) -> None:
    assert TENSORFLOW_KINDS.keys() <= registered


@pytest.mark.parametrize("kinds", [TENSORFLOW_KINDS, XLA_KINDS], ids=["tf", "tf-xla"])
def test_classes_are_those_of_operators_and_never_the_runtimes_own_work(kinds: dict[str, str]) -> None:
    assert set(kinds.values()) <= set(OperatorClass) - {OperatorClass.OVERHEAD}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("_MklNativePadWithFusedConv2D", OperatorClass.MATRIX),
        ("_MklNativeFusedDepthwiseConv2dNative", OperatorClass.MATRIX),
        ("_MklQuantizedMatMulWithBiasAndRequantize", OperatorClass.MATRIX),
        ("_MklNativeFusedBatchNormEx", OperatorClass.NORMALISATION),
        ("_MklSwish", OperatorClass.ELEMENTWISE),
        ("_MklNativeMaxPool", OperatorClass.REDUCTION),
        ("_MklTranspose", OperatorClass.MOVEMENT),
        ("_While", OperatorClass.CONTROL_FLOW),
        ("TopKV2", OperatorClass.OTHER),
    ],
)
def test_an_operator_belongs_to_the_class_of_its_work(kind: str, expected: OperatorClass) -> None:
    assert TENSORFLOW_KINDS[kind] == expected
