"""irbench's optimiser beside others: what counts as behind, and what the page says of a graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from documents import speedup
from onnx import helper, numpy_helper
from written_graphs import graph

from benchmarks.backbone_check import MASKS, GraphError
from benchmarks.optimizers import __main__ as program
from benchmarks.optimizers.graphs import MadeGraph, Speeds, Timed, Unit, _without, folder_of, state_of, stored
from benchmarks.optimizers.page import answer_table, as_page, fused_table, node_table, problems, speed_table
from benchmarks.optimizers.speeds import graphs_to_measure
from benchmarks.optimizers.standing import behind_in_nodes, behind_in_speed, fused
from benchmarks.optimizers.structure import structure_digest
from benchmarks.optimizers.subjects import EXPORTED, SUBJECTS
from benchmarks.optimizers.written_graphs import finish

BERT = next(subject for subject in SUBJECTS if subject.name == "bert")
NODES = {EXPORTED: 200, "onnxslim": 150, "ORT all": 90, "irbench basic": 160, "irbench extended": 100}


def right(name: str, backend: str = "ort") -> GraphError:
    return GraphError(name, backend, 2e-7, by_mask=dict.fromkeys(MASKS, 2e-7))


def wrong(name: str, *masks: str) -> GraphError:
    return GraphError(name, "ort", 0.5, "masks of zeros: off", by_mask={"ones": 2e-7}, wrong_masks=masks)


def lost(name: str, backend: str = "ort") -> GraphError:
    return GraphError(name, backend, None, "no kernel", ran=False)


def unit(*errors: GraphError, **nodes: int) -> Unit:
    counts = {**NODES, **nodes}.items()
    graphs = tuple(MadeGraph(name, {"MatMul": count}, structure=str(count)) for name, count in counts)
    told = {(error.level, error.backend) for error in errors}
    others = [right(name, at) for name in NODES for at in ("ort", "openvino") if (name, at) not in told]
    return Unit("bert", "dynamo", graphs, (*errors, *others))


def timed(known: Unit, **values: tuple[float, float]) -> Unit:
    """Return a unit with the speedups and half-widths of some of its graphs over the exported one."""
    rows = {EXPORTED: Timed("ok", 5.0)}
    for name, (value, half) in values.items():
        rows[name.replace("_", " ")] = Timed("ok", 5 / value, speedup(value, value - half, value + half, "faster"))
    return replace(known, speeds=Speeds(60.0, 5, rows))


def row(table, model: str = "bert") -> list[str]:
    lines = [line for line in table.as_markdown().splitlines() if line.startswith(f"| {model} ")]
    return [text.strip() for text in lines[0].strip("|").split("|")]


def test_a_graph_is_equal_differs_or_fails_on_a_runtime():
    errors = (right("onnxslim"), wrong("ORT all", "zeros"), lost("irbench basic"))
    assert [state_of(errors, name, "ort") for name in ("onnxslim", "ORT all", "irbench basic", "ORT basic")] == [
        *("equal", "differs", "fails", "fails")
    ]


def test_attentions_and_normalisations_count_whoever_defines_them():
    operators = {
        "Attention": 2, "com.microsoft.MultiHeadAttention": 3, "com.microsoft.SkipLayerNormalization": 4,
        "LayerNormalization": 5, "BatchNormalization": 6, "com.microsoft.SimplifiedLayerNormalization": 7,
    }  # fmt: skip
    assert fused(MadeGraph("ORT all", operators)) == (5, 16)


def test_the_smallest_graph_of_others_is_named_where_no_level_is_as_small():
    behind = behind_in_nodes(unit())
    assert behind is not None
    assert (behind.other, behind.own, behind.other_value, behind.own_value) == ("ORT all", "irbench extended", 90, 100)
    assert behind_in_nodes(unit(**{"irbench extended": 90})) is None


@pytest.mark.parametrize("error", [wrong("ORT all", "zeros"), lost("ORT all")])
def test_a_smaller_graph_that_does_not_answer_rightly_is_none(error: GraphError):
    assert behind_in_nodes(unit(error)) is None


def test_a_faster_graph_of_others_is_named_and_whether_the_intervals_overlap():
    clear = behind_in_speed(timed(unit(), onnxslim=(1.5, 0.1), irbench_extended=(1.2, 0.1)))
    assert clear is not None
    assert (clear.other, clear.own, clear.is_sure) == ("onnxslim", "irbench extended", True)
    unclear = behind_in_speed(timed(unit(), onnxslim=(1.3, 0.2), irbench_extended=(1.2, 0.2)))
    assert unclear is not None
    assert not unclear.is_sure


def test_the_better_level_of_irbench_counts_and_two_per_cent_are_the_same():
    assert behind_in_speed(timed(unit(), onnxslim=(1.2, 0.1), irbench_basic=(1.19, 0.1))) is None
    found = behind_in_speed(timed(unit(), onnxslim=(1.4, 0.1), irbench_basic=(1.3, 0.1), irbench_extended=(0.9, 0.1)))
    assert found is not None
    assert found.own == "irbench basic"


def test_the_exported_graph_is_the_fastest_of_the_others_where_all_are_slower():
    behind = behind_in_speed(timed(unit(), onnxslim=(0.9, 0.02), irbench_extended=(0.8, 0.05)))
    assert behind is not None
    assert (behind.other, behind.other_value, behind.is_sure) == (EXPORTED, 1.0, True)


def test_nodes_are_marked_where_a_graph_answers_wrongly_or_cannot_be_read():
    found = unit(wrong("onnxslim", "zeros"), lost("ORT all"), lost("ORT all", "openvino"))
    cells = row(node_table([found]))
    assert {"200", "150 x", "90 f o", "100"} <= set(cells)


def test_an_optimiser_that_failed_and_one_that_was_not_called_are_told_apart():
    found = unit()
    failed = replace(found, graphs=(*found.graphs, MadeGraph("ORT basic", failure="no memory")))
    cells = row(node_table([failed]))
    assert cells.count("-") == 1
    assert cells.count("") == 4
    assert "- bert, dynamo, ORT basic: no graph: no memory" in list(problems([failed]))


def test_a_graph_that_no_runtime_reads_as_exported_either_is_no_problem():
    everywhere = unit(*(lost(name, "openvino") for name in NODES))
    assert not list(problems([everywhere]))
    assert len(list(problems([unit(lost("ORT all", "openvino"))]))) == 1


def test_answers_are_counted_by_optimiser():
    cells = row(answer_table([unit(wrong("onnxslim", "zeros")), unit()]), "onnxslim")
    assert cells == ["onnxslim", "2", "0", "1", "1", "0", "2", "0", "0", "2e-07"]


def test_models_without_anything_to_fuse_are_left_out_of_what_is_fused():
    assert "bert" not in fused_table([unit()]).as_markdown()


def test_the_page_has_speeds_only_of_what_was_measured_and_names_where_irbench_is_behind():
    fast = timed(
        replace(unit(), versions={"torch": "2", "onnx": "1"}), onnxslim=(1.5, 0.1), irbench_extended=(1.2, 0.1)
    )
    later = replace(unit(), versions={"torch": "3"})
    page = as_page([fast, later], {("vit", "bert"): "For a reason"})
    assert "- nodes, bert, dynamo: 90 by ORT all, 100 by irbench extended" in page
    assert "- speed, bert, dynamo: 1.50 by onnxslim, 1.20 by irbench extended" in page
    assert "- bert: For a reason." in page
    assert "Versions: torch 2 and 3, onnx 1." in page
    assert "- speed" not in as_page([unit()], {})


def test_graphs_that_answer_wrongly_are_not_measured():
    assert graphs_to_measure(unit(wrong("onnxslim", "zeros"))) == [EXPORTED, "irbench basic", "irbench extended"]


def test_of_graphs_with_the_same_structure_one_is_measured():
    assert graphs_to_measure(unit(onnxslim=200, **{"irbench extended": 160})) == [EXPORTED, "irbench basic"]


def structure_of(folder: Path, body: str, **weights: object) -> str:
    onnx.save(graph(f"(float[2,2] x) => (float[2,2] y) {{ {body} }}", **weights), folder / "model.onnx")
    return structure_digest(folder / "model.onnx")


def test_names_order_and_the_place_of_constants_are_no_part_of_a_structure(tmp_path: Path):
    weight = np.eye(2, dtype=np.float32)
    first = structure_of(tmp_path, "a = MatMul(x, w) b = Relu(x) y = Sub(a, b)", w=weight)
    values = "{1.0, 0.0, 0.0, 1.0}"
    other = f"p = Relu(x) k = Constant<value = float[2,2] {values}>() q = MatMul(x, k) y = Sub(q, p)"
    assert structure_of(tmp_path, other) == first


@pytest.mark.parametrize(
    ("body", "weight"),
    [
        ("a = MatMul(x, w) b = Relu(x) y = Sub(b, a)", np.eye(2)),
        ("a = MatMul(x, w) b = Relu(a) y = Sub(a, b)", np.eye(2)),
        ("a = MatMul(x, w) b = Relu(x) y = Sub(a, b)", np.ones((2, 2))),
        ("a = MatMul(x, w) b = LeakyRelu(x) y = Sub(a, b)", np.eye(2)),
    ],
)
def test_the_same_number_of_operators_makes_no_equal_structure(tmp_path: Path, body: str, weight: np.ndarray):
    first = structure_of(tmp_path, "a = MatMul(x, w) b = Relu(x) y = Sub(a, b)", w=np.eye(2, dtype=np.float32))
    assert structure_of(tmp_path, body, w=weight.astype(np.float32)) != first


def test_branches_and_attributes_are_part_of_a_structure(tmp_path: Path):
    def branching(operation: str) -> str:
        branches = "then_branch = g () => (float[2,2] t) { t = OPERATION(x) }, "
        branches += "else_branch = h () => (float[2,2] e) { e = Neg(x) }"
        text = f"c = Cast<to = 9>(s) y = If(c)<{branches}>"
        return structure_of(tmp_path, text.replace("OPERATION", operation), s=np.float32(1))

    assert branching("Relu") == branching("Relu") != branching("Abs")
    assert structure_of(tmp_path, "y = Softmax<axis = 0>(x)") != structure_of(tmp_path, "y = Softmax<axis = 1>(x)")


def test_a_graph_that_was_not_timed_says_so():
    assert row(speed_table([unit()]))[2] == "not timed"
    assert row(speed_table([unit(**dict.fromkeys(NODES, 200))]))[2] == "no graph differs"


def test_a_graph_that_stays_as_exported_is_as_fast_as_that():
    same = unit(**{"irbench basic": 200, "irbench extended": 200})
    behind = behind_in_speed(timed(same, onnxslim=(1.2, 0.1)))
    assert behind is not None
    assert (behind.own_value, behind.is_sure) == (1.0, True)
    page = as_page([timed(same, onnxslim=(1.2, 0.1))], {})
    assert "as exported" in page


def test_biases_and_factors_of_untrained_models_are_drawn_and_other_weights_stay():
    constants = {"bias": np.zeros(8), "factor": np.ones(8), "axes": np.zeros(4), "trained": np.arange(8.0)}
    weights = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()]
    graph = onnx.GraphProto(initializer=weights, input=[helper.make_tensor_value_info("x", 1, ["batch", "s53"])])
    finish(model := onnx.ModelProto(graph=graph), {"x": {1: "total"}})
    found = {weight.name: numpy_helper.to_array(weight) for weight in model.graph.initializer}
    changed = [name for name, value in constants.items() if not np.array_equal(found[name], value)]
    assert changed == ["bias", "factor"]
    assert abs(found["factor"].mean() - 1) < 0.1
    assert [size.dim_param for size in model.graph.input[0].type.tensor_type.shape.dim] == ["batch", "total"]


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have units made without their graphs; return the models of those that were."""
    models: list[str] = []

    def visit(place: Path, subject, exporter) -> Unit:
        models.append(subject.name)
        folder = folder_of(place, subject, exporter)
        folder.mkdir(parents=True)
        made = replace(unit(), model=subject.name)
        (folder / "graphs.json").write_bytes(msgspec.json.encode(made))
        return made

    monkeypatch.setattr(program, "visit", visit)
    return models


def called(folder: Path, place: str, pattern: str, speeds: str = "--no-speeds") -> str:
    """Return the page after a call for some models, which keeps its graphs in a place of its own."""
    asked = ["--place", str(folder / place), "--facts", str(folder / "facts"), "--only", pattern]
    page = folder / "page.md"
    done = CliRunner().invoke(program.main, [*asked, "--exporter", "dynamo", speeds, "-o", str(page)])
    assert done.exit_code == 0
    return page.read_text()


def test_what_was_made_is_not_made_again_and_the_page_is_written_of_all(tmp_path: Path, visited: list[str]):
    called(tmp_path, "graphs", "bert")
    assert "| distilbert " in called(tmp_path, "graphs", "*bert*")
    assert visited == ["bert", "roberta", "distilbert", "albert", "deberta_v2"][: len(visited)]
    assert visited.count("bert") == 1
    assert stored(folder_of(tmp_path / "graphs", BERT, "dynamo")) == unit()


def test_a_call_without_the_graphs_of_an_earlier_one_keeps_its_rows(tmp_path: Path, visited: list[str]):
    called(tmp_path, "graphs", "bert")
    page = called(tmp_path, "other graphs", "albert")
    assert visited == ["bert", "albert"]
    assert {"bert", "albert"} <= set(page.split())


def test_speeds_are_measured_once_and_stay_without_the_graphs(
    tmp_path: Path, visited: list[str], monkeypatch: pytest.MonkeyPatch
):
    measured = []

    def measure(bench, folder: Path, known: Unit, *_) -> Speeds | None:
        measured.append(known.model)
        return timed(known, onnxslim=(1.5, 0.1)).speeds

    monkeypatch.setattr(program, "measure", measure)
    called(tmp_path, "graphs", "bert")
    page = called(tmp_path, "graphs", "bert", "--speeds")
    assert "1.50 [1.40, 1.60]" in page
    assert called(tmp_path, "other graphs", "bert", "--speeds") == page
    assert (visited, measured) == (["bert"], ["bert"])


def test_what_a_runtime_says_of_a_file_names_no_folder_of_the_machine_that_was_asked():
    said = "Load model from /scratch/ab/8c/slim.onnx failed: no /other/file"
    assert _without("/scratch/ab", said) == "Load model from slim.onnx failed: no /other/file"
