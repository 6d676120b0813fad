"""Tables that are read by position, told from those that are read by token."""

from __future__ import annotations

from pathlib import Path

import pytest
from decoders import write_decoder
from onnx import TensorProto, helper, save

from irbench.onnx.reading.position_tables import positions


def test_a_table_that_position_ids_read_has_as_many_positions_as_rows(tmp_path: Path) -> None:
    assert positions(write_decoder(tmp_path / "d.onnx", positions=24), "input_ids") == 24


def test_a_table_of_tokens_alone_bounds_nothing(tmp_path: Path) -> None:
    assert positions(write_decoder(tmp_path / "d.onnx"), "input_ids") is None


@pytest.mark.parametrize(("operator", "rows"), [("Identity", 9), ("Log", None)])
def test_positions_may_be_counted_in_the_graph_but_buckets_of_them_are_none(
    tmp_path: Path, operator: str, rows: int | None
) -> None:
    nodes = [
        helper.make_node("Shape", ["ids"], ["length"], start=1),
        helper.make_node("Squeeze", ["length"], ["limit"]),
        helper.make_node("Range", ["zero", "limit", "one"], ["counted"]),
        helper.make_node(operator, ["counted"], ["moved"]),
        helper.make_node("Gather", ["table", "moved"], ["places"]),
    ]
    table = helper.make_tensor("table", TensorProto.FLOAT, [9, 2], [0.0] * 18)
    numbers = [helper.make_tensor(name, TensorProto.INT64, [], [value]) for name, value in (("zero", 0), ("one", 1))]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "tokens"])
    places = helper.make_tensor_value_info("places", TensorProto.FLOAT, ["tokens", 2])
    graph = helper.make_graph(nodes, "g", [ids], [places], [table, *numbers])
    save(helper.make_model(graph), tmp_path / "m.onnx")
    assert positions(tmp_path / "m.onnx", "ids") == rows
