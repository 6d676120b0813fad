import numpy as np
import onnx_ir as ir
from graphs import graph

from irbench.onnx.shapes import infer
from irbench.onnx.sizes import Size, sizes_of


def test_a_constant_whose_shape_was_unknown_gets_that_of_what_it_holds():
    model = graph("(float[2,3] x) => (float[2,3] y) { y = Add (x, table) }", {"table": np.ones((2, 3), np.float32)})
    table = model.graph.initializers["table"]
    table.shape, table.type = ir.Shape([None, None]), None
    infer(model)
    assert (sizes_of(table), table.dtype) == ([Size(2), Size(3)], ir.DataType.FLOAT)


def test_what_is_computed_from_a_constant_whose_shape_was_unknown_has_a_shape():
    model = graph(
        "(float[2,3] x) => (float[2,3] y) { s = Exp (table)  y = Add (x, s) }", {"table": np.float32([1, 2, 3])}
    )
    model.graph.initializers["table"].shape = None
    infer(model)
    assert sizes_of(next(iter(model.graph)).outputs[0]) == [Size(3)]


def test_a_constant_that_a_caller_may_replace_keeps_the_shape_of_the_input():
    model = graph("(float[n] x) => (float[n] y) { y = Exp (x) }", {"x": np.ones(3, np.float32)})
    infer(model)
    assert sizes_of(model.graph.inputs[0]) == [Size(1, ("n",))]
