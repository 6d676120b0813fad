import onnx.defs
import pytest

from irbench.onnx.operator_classes import CLASSIFIED_DOMAINS, OPERATORS, OperatorClass, operator_class

_SCHEMAS = onnx.defs.get_all_schemas_with_history()


def test_every_operator_of_onnx_has_a_class():
    assert {schema.domain for schema in _SCHEMAS} <= CLASSIFIED_DOMAINS
    assert {schema.name for schema in _SCHEMAS} <= OPERATORS.keys()


def test_every_operator_that_onnx_runtime_adds_has_a_class():
    state = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")
    schemas = [schema for schema in state.get_all_operator_schema() if schema.domain in CLASSIFIED_DOMAINS]
    assert len(schemas) > 300
    assert {schema.name for schema in schemas} <= OPERATORS.keys()


@pytest.mark.parametrize(
    ("domain", "op_type", "expected"),
    [
        ("", "Conv", OperatorClass.MATRIX),
        ("ai.onnx", "MatMul", OperatorClass.MATRIX),
        ("com.microsoft", "FusedConv", OperatorClass.MATRIX),
        ("com.microsoft.nchwc", "Conv", OperatorClass.MATRIX),
        ("com.microsoft.nchwc", "ReorderInput", OperatorClass.MOVEMENT),
        ("", "LSTM", OperatorClass.RECURRENT),
        ("", "Softmax", OperatorClass.NORMALISATION),
        ("", "QuantizeLinear", OperatorClass.ELEMENTWISE),
        ("", "MaxPool", OperatorClass.REDUCTION),
        ("", "Transpose", OperatorClass.MOVEMENT),
        ("", "Loop", OperatorClass.CONTROL_FLOW),
        ("", "TopK", OperatorClass.OTHER),
        ("", "NoSuchOperator", OperatorClass.OTHER),
        ("com.example", "Conv", OperatorClass.OTHER),
    ],
)
def test_an_operator_belongs_to_the_class_of_its_work(domain, op_type, expected):
    assert operator_class(domain, op_type) is expected


def test_no_operator_is_the_runtimes_own_work():
    assert OperatorClass.OVERHEAD not in OPERATORS.values()
