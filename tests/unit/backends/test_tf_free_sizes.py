"""TensorFlow's graphs with dimensions that differ from call to call, as decoders have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irbench.spec import Artifact, Load, TensorSpec
from irbench_tf import compiler
from irbench_tf.session import import_lean

TOKENS = TensorSpec("tokens", "int32", (1, "sequence"))
DOUBLED = TensorSpec("doubled", "int32", (1, "sequence"))
INT32 = 3


def doubling(path: Path) -> Artifact:
    import_lean()
    from tensorflow.core.framework import graph_pb2

    graph = graph_pb2.GraphDef()
    graph.node.add(name=TOKENS.name, op="Placeholder").attr["dtype"].type = INT32
    graph.node.add(name="sum", op="AddV2", input=[TOKENS.name, TOKENS.name]).attr["T"].type = INT32
    graph.node.add(name=DOUBLED.name, op="Identity", input=["sum"]).attr["T"].type = INT32
    path.write_bytes(graph.SerializeToString())
    return Artifact("tf-graph", path, (TOKENS,), (DOUBLED,))


@pytest.mark.ci
@pytest.mark.parametrize("jit", [False, True], ids=["tf", "tf-xla"])
def test_a_dimension_without_a_size_takes_any_number_of_tokens(tmp_path: Path, jit: bool) -> None:
    job = compiler.Job(doubling(tmp_path / "graph.pb"), Load(threads=1), "cpu", jit)
    session = compiler.compile_graph(job, compiler.load_graph(job))
    (slot,) = session.open_slots(1, "copy")
    for length in (3, 1):
        slot.stage((np.arange(length, dtype=np.int32)[None],))
        slot.run()
        assert slot.fetch()[0].tolist() == [[2 * each for each in range(length)]]
    session.close()
