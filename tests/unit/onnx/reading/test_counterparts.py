"""Which ONNX nodes belong to the operators of the framework that a model was exported from."""

from __future__ import annotations

from irbench.onnx.reading.counterparts import FrameworkOperator, onnx_counterparts
from irbench.onnx.reading.inventory import Inventory, NodeEntry


def node(op_type: str, inputs: str, outputs: str, name: str) -> NodeEntry:
    return NodeEntry(name, op_type, "", tuple(inputs.split()), tuple(outputs.split()))


ATTENTION = Inventory(
    nodes=(
        node("Reshape", "x", "r", "Reshape__10"),
        node("MatMul", "r query", "p", "MatMul__11"),
        node("Add", "p bias", "block/query/add:0", "block/query/add"),
        node("Cast", "block/query/add:0", "c", "block/less__5"),
        node("Less", "c", "block/less:0", "block/less"),
        node("MatMul", "block/less:0 value", "v", "MatMul__20"),
        node("Transpose", "v", "t", "Transpose__21"),
        node("Gemm", "t output", "g", "Gemm__22"),
        node("Add", "g bias", "block/output/add:0", "block/output/add"),
        node("Conv", "block/output/add:0 kernel", "block/norm/add:0", "block/conv"),
    )
)


def counterparts(*operators: tuple[str, str]) -> list[tuple[str, ...]]:
    executed = [FrameworkOperator(kind, tuple(nodes.split())) for kind, nodes in operators]
    return list(onnx_counterparts(executed, ATTENTION))


def test_nodes_keep_their_names_and_parts_have_a_suffix():
    assert counterparts(("AddV2", "block/query/add"), ("Less", "block/less"))[1] == ("block/less__5", "block/less")


def test_what_was_rewritten_belongs_to_the_product_before_the_next_known_node():
    product, add = counterparts(("Einsum", "block/query/einsum"), ("AddV2", "block/query/add"))
    assert product == ("Reshape__10", "MatMul__11")
    assert add == ("block/query/add",)


def test_several_products_are_told_apart_by_their_order():
    *_, value, output, add = counterparts(
        ("Einsum", "block/query/einsum"),
        ("AddV2", "block/query/add"),
        ("Less", "block/less"),
        ("Einsum", "block/einsum_1"),
        ("Einsum", "block/output/einsum"),
        ("BiasAdd", "block/output/add"),
    )
    assert value == ("MatMul__20",)
    assert output == ("Transpose__21", "Gemm__22")
    assert add == ("block/output/add",)


def test_a_product_that_is_called_as_what_follows_it_belongs_to_the_product():
    *_, product, activation = counterparts(
        ("AddV2", "block/output/add"), ("Conv2D", "block/convolution"), ("BiasAdd", "block/conv")
    )
    assert product == ("block/conv",)
    assert activation == ()


def test_a_product_of_another_scope_is_taken_where_none_is_of_the_same():
    product, _ = counterparts(("_FusedConv2D", "elsewhere/conv/BiasAdd"), ("AddV2", "block/query/add"))
    assert "MatMul__11" in product


def test_products_of_other_scopes_are_taken_where_those_of_the_same_are_too_few():
    *_, value, output = counterparts(
        ("Less", "block/less"), ("dot", "elsewhere/value"), ("_FusedMatMul", "block/output/matmul block/output/add")
    )
    assert value == ("MatMul__20",)
    assert {"Gemm__22", "block/output/add"} <= set(output)


def test_a_fused_operator_has_the_counterparts_of_all_its_nodes():
    (fused,) = counterparts(("_FusedMatMul", "block/query/einsum block/query/add"))
    assert set(fused) == {"Reshape__10", "MatMul__11", "block/query/add"}


def test_a_node_that_several_operators_compute_is_named_in_each():
    first, second = counterparts(("fusion", "block/query/add"), ("fusion", "block/query/add"))
    assert "block/query/add" in first
    assert second == ("block/query/add",)


def test_what_only_lays_out_a_product_is_no_product():
    layout, product, add = counterparts(
        ("fusion", "block/query/einsum"), ("dot", "block/query/einsum"), ("fusion", "block/query/add")
    )
    assert "MatMul__11" in product
    assert not {"MatMul__11"} & {*layout, *add}


def test_what_a_backend_classifies_otherwise_is_no_product_whatever_it_is_called():
    convert = FrameworkOperator("convert", ("block/query/einsum",), "movement")
    product = FrameworkOperator("__library$gemm", ("block/query/einsum",), "matrix")
    add = FrameworkOperator("AddV2", ("block/query/add",), "elementwise")
    assert not convert.is_product
    moved, multiplied, _ = onnx_counterparts((convert, product, add), ATTENTION)
    assert "MatMul__11" not in moved
    assert "MatMul__11" in multiplied


def test_products_that_run_side_by_side_are_told_apart_by_their_scopes():
    early, product, *_ = counterparts(
        ("Einsum", "block/value/einsum/Einsum"), ("Einsum", "block/query/einsum/Einsum"), ("AddV2", "block/query/add")
    )
    assert early == ()
    assert "MatMul__11" in product


def test_a_product_whose_name_is_lost_is_found_by_where_it_lies():
    product, _ = counterparts(("dot", ""), ("AddV2", "block/query/add"))
    assert product == ("Reshape__10", "MatMul__11")


def test_a_node_is_found_by_the_tensor_that_it_makes():
    *_, norm = counterparts(("AddV2", "block/output/add"), ("FusedBatchNormV3", "block/norm/add"))
    assert norm == ("block/conv",)


RECURRENT = Inventory(
    nodes=(
        node("LSTM", "x w r", "h1", "LSTM__1"),
        node("Squeeze", "h1", "s1", "Squeeze__2"),
        node("LSTM", "s1 w r", "h2", "LSTM__3"),
        node("MatMul", "h2 dense", "logits/MatMul:0", "logits/MatMul"),
    )
)


def test_all_operators_of_a_loop_compute_the_recurrent_node_that_it_became():
    executed = [
        FrameworkOperator("MatMul", ("lstm1/while/lstm_cell/MatMul",)),
        FrameworkOperator("fusion", ("lstm1/while/lstm_cell/Tanh", "lstm1/while/lstm_cell/mul")),
        FrameworkOperator("MatMul", ("lstm2/while_1/lstm_cell/MatMul",)),
        FrameworkOperator("MatMul", ("logits/MatMul",)),
    ]
    *first, second, dense = onnx_counterparts(executed, RECURRENT)
    assert first == [("LSTM__1", "Squeeze__2")] * 2
    assert second == ("LSTM__3",)
    assert dense == ("logits/MatMul",)


FOLDED = Inventory(
    nodes=(
        node("Conv", "x kernel bias", "block/norm/add_1:0", "block/depthwise"),
        node("Clip", "block/norm/add_1:0", "block/relu:0", "block/relu"),
        node("Conv", "block/relu:0 kernel bias", "Conv__9:0", "Conv__9"),
        node("Add", "Conv__9:0 block/relu:0", "block/sum/Add:0", "block/sum/Add"),
    )
)


def test_operators_that_compute_what_was_folded_into_a_product_are_parts_of_it():
    executed = [
        FrameworkOperator("DepthwiseConv2dNative", ("block/depthwise",)),
        FrameworkOperator("Mul", ("block/norm/mul_1",)),
        FrameworkOperator("AddV2", ("block/norm/add_1",)),
        FrameworkOperator("Relu6", ("block/relu",)),
    ]
    assert list(onnx_counterparts(executed, FOLDED)) == [*[("block/depthwise",)] * 3, ("block/relu",)]


def test_what_waits_in_another_scope_is_no_part_of_a_product():
    executed = [
        FrameworkOperator("DepthwiseConv2dNative", ("block/depthwise",)),
        FrameworkOperator("Mul", ("elsewhere/mul",)),
        FrameworkOperator("AddV2", ("block/norm/add_1",)),
    ]
    assert list(onnx_counterparts(executed, FOLDED)) == [("block/depthwise",), (), ("block/depthwise",)]


def test_what_a_rewriter_made_of_a_node_has_the_counterpart_of_that_node():
    executed = [
        FrameworkOperator("Relu6", ("block/relu",)),
        FrameworkOperator("_MklNativeConv2D", ("block/project/mul_1",)),
        FrameworkOperator("AddN", ("block/sum/ArithmeticOptimizer/AddOpsRewrite_Leaf_1_Add",)),
        FrameworkOperator("AddV2", ("block/sum/ArithmeticOptimizer/AddOpsRewrite_Add",)),
        FrameworkOperator("AddV2", ("block/sum/ArithmeticOptimizer/AddOpsRewrite_Other",)),
    ]
    _, product, leaf, add, other = onnx_counterparts(executed, FOLDED)
    assert product == ("Conv__9",)
    assert leaf == add == ("block/sum/Add",)
    assert other == ()


def test_what_is_unknown_has_no_counterpart():
    assert counterparts(("Sqrt", "elsewhere"), ("SessionRun", "")) == [(), ()]
