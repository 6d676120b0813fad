"""Whether ``irbench gate`` decides rightly on a loaded machine: ``make bench-gates``, up to 80 minutes.

Pairs of real models, of which one half are equal but for their weights, and the other half 10 % apart in what they
compute, beside a program that keeps a processor busy half of the time, 3 s of every 6 s. Of 20 equal pairs at most one
may fail, and of 20 unequal ones at least 18 must be found, within two minutes each. Beside one that never pauses
(``--pause 0``) most gates on two processors end undecided, and those that fail must still be the right ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import click
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from benchmarks.busy import Neighbour, running

_WIDTH, _ROWS, _LAYERS, _MORE_LAYERS = 256, 64, 20, 22
_MOST_ALARMS, _LEAST_FOUND = 0.05, 0.9
_BUSY_S = 3.0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--pairs", default=20, show_default=True, help="Of equal models, and of models 10 % apart.")
@click.option("--busy", default=1, show_default=True, help="Programs that keep a processor busy each.")
@click.option("--pause", default=3.0, show_default=True, help="Seconds that they pause after every 3 s.")
@click.option("--budget", default="2m", show_default=True, help="Of each gate.")
def main(pairs: int, busy: int, pause: float, budget: str) -> None:
    """Gate equal models and models 10 % apart by turns; exits with 1 where more than chance allows goes wrong."""
    alarms = found = 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="irbench-gates-")))
        for _ in range(busy):
            stack.enter_context(running(Neighbour(_BUSY_S, pause), os.sched_getaffinity(0)))
        for number in range(pairs):
            base = _model(folder / f"base-{number}.onnx", _LAYERS, seed=2 * number)
            equal = _model(folder / f"equal-{number}.onnx", _LAYERS, seed=2 * number + 1)
            slower = _model(folder / f"slower-{number}.onnx", _MORE_LAYERS, seed=2 * number + 1)
            alarms += _gate(base, equal, folder, budget) == 1
            found += _gate(base, slower, folder, budget) == 1
    click.echo(f"equal: {alarms} of {pairs} failed; 10 % slower: {found} of {pairs} found")
    sys.exit(int(alarms > _MOST_ALARMS * pairs or found < _LEAST_FOUND * pairs))


def _gate(base: Path, new: Path, folder: Path, budget: str) -> int:
    asked = ["--backends", "ort", "--budget", budget, "--results", str(folder / "results"), "--format", "json"]
    began = time.monotonic()  # noqa: TID251 - of the whole command, not of what it measures
    called = subprocess.run(
        [sys.executable, "-P", "-m", "irbench", "gate", str(base), str(new), *asked],
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began  # noqa: TID251 - as above
    if called.returncode not in (0, 1, 6):
        raise click.ClickException(called.stderr)
    document = json.loads(called.stdout)
    (row,) = document["gate"]["rows"]
    change = row["conditions"][0]["change"] if row["conditions"] else None
    shift = change["relative"] if change else {"value": np.nan, "low": np.nan, "high": np.nan}
    told = f"{100 * shift['value']:+.1f} % [{100 * shift['low']:+.1f} %, {100 * shift['high']:+.1f} %]"
    if shift.get("confidence") is None:
        told = f"{told} (the range, too few for an interval)"
    launches = change["new_count"] if change else 0
    load = "as loaded" if document["gate"]["is_as_loaded"] else "usual"
    click.echo(
        f"{new.stem}: {document['outcome']} (code {called.returncode}), {told}, {launches} launches, {seconds:.0f} s,"
        f" {load}, load average {os.getloadavg()[0]:.1f}"
    )
    return called.returncode


def _model(path: Path, layers: int, seed: int) -> Path:
    """Write a model of square products, which takes as long as it has layers."""
    random = np.random.default_rng(seed)
    weights = random.normal(0, 1 / np.sqrt(_WIDTH), (layers, _WIDTH, _WIDTH)).astype(np.float32)
    nodes: list[onnx.NodeProto] = []
    for layer in range(layers):
        nodes.append(helper.make_node("MatMul", [f"value_{layer}", f"weight_{layer}"], [f"product_{layer}"]))
        nodes.append(helper.make_node("Relu", [f"product_{layer}"], [f"value_{layer + 1}"]))
    shape = [_ROWS, _WIDTH]
    graph = helper.make_graph(
        nodes,
        "products",
        [helper.make_tensor_value_info("value_0", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(f"value_{layers}", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(weight, f"weight_{layer}") for layer, weight in enumerate(weights)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


if __name__ == "__main__":
    main()
