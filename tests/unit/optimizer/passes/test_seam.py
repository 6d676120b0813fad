import subprocess
import sys
from importlib.metadata import entry_points

from graphs import graph, kept

from irbench.optimizer.passes import Rewrite

PASSES = {
    point.name: point.load() for point in entry_points(group="irbench.passes") if "irbench.optimizer." in point.value
}


def test_passes_are_found_by_their_entry_points():
    assert {"fold_shapes", "fuse_attention", "loop_to_gru", "pack_attention"} <= set(PASSES)


def test_a_pass_says_what_it_is(subtests):
    for name, found in PASSES.items():
        with subtests.test(name=name):
            assert found.name == name
            assert found.summary
            assert found.vendor in (None, "com.microsoft")
            assert 13 <= found.opset <= 23


def test_a_pass_leaves_a_graph_alone_that_has_nothing_for_it(subtests):
    for name, found in PASSES.items():
        with subtests.test(name=name):
            assert kept(found, graph("(float[2,3] x) => (float[2,3] y) { y = Relu (x) }"))


def test_a_pass_is_not_applied_below_its_operator_set():
    never = Rewrite("never", "fails when it is called", lambda _: 1 / 0, opset=20)
    assert not never(graph("(float[3] x) => (float[3] y) { y = Relu (x) }", opset=19))


def test_listing_passes_imports_no_rewriter():
    code = "from importlib.metadata import entry_points as e; import sys; [p.load() for p in e(group='irbench.passes')]"
    code += "; assert not {'onnxscript', 'onnx_ir', 'onnx'} & set(sys.modules), sorted(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
