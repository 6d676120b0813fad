"""Every model of the zoo: exported, and answered rightly by every backend that is installed.

The smallest model of each family is optimised and measured too, unless even that one is large; ``make zoo`` does that
with all of them. The other models are marked ``zoo``, because they take hours: ``make test-zoo``.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import onnx_ir
import pytest
from front_door import irbench
from zoo_parts import MOST_MACS, skipped_without_its_parts

from irbench.core import registry
from irbench.core.feeds import POOL, repeat_pool
from irbench.core.output_check import compare, judge
from irbench.cost_model.costs import ModelCost
from irbench.cost_model.counting import cost_of_file, model_cost
from irbench.exporter.build import export
from irbench.optimizer.passes.fold_shapes import fold_shapes
from irbench.optimizer.passes.loop_to_gru import loop_to_gru
from irbench.options.export import ExportOptions
from irbench.spec import BATCH as FIRST_AXIS
from irbench.spec import Bundle, Load
from irbench.store import bundles
from irbench.worker import call_in_worker

DEADLINE_S = 900
BATCH = 2
REAL = [name for name in registry.names(registry.BACKENDS) if not name.startswith("fake-")]


IN_CI = ("bilstm_tagger", "lenet5")
"""A model of each kind, small enough for continuous integration: recurrent and plain."""


def one_of_each_family() -> tuple[str, ...]:
    """Return the fewest weights of each family, or what continuous integration runs of it."""
    models = sorted(map(registry.model, registry.names(registry.MODELS)), key=lambda model: model.parameters or 0)
    chosen = {model.family: model.name for model in reversed(models) if (model.macs or 0) <= MOST_MACS}
    return tuple({**chosen, **{registry.model(name).family: name for name in IN_CI}}.values())


def marked(names: Iterable[str]) -> list[Any]:
    """Return parameters of tests, marked by where they run: in continuous integration, or only with the whole zoo."""
    return [pytest.param(name, marks=_marks(name)) for name in names]


def _marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
    if name in IN_CI:
        return (pytest.mark.ci,)
    zoo = () if name in one_of_each_family() else (pytest.mark.zoo,)
    return (*skipped_without_its_parts(name), pytest.mark.slow, *zoo)


@pytest.fixture(scope="module", params=marked(registry.names(registry.MODELS)))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Export a model of the zoo, and delete it afterwards: together they would fill a disk."""
    output = tmp_path_factory.mktemp(request.param)
    yield export(request.param, ExportOptions(output=output / "bundle"), lambda _line: None)
    shutil.rmtree(output)


def test_every_backend_answers_a_zoo_model_as_tensorflow_did_at_export(folder: Path, tmp_path: Path):
    bundle = bundles.load(folder)
    expected = bundles.reference_outputs(bundle)
    assert expected is not None
    assert all(len(expected_output) == POOL for expected_output in expected)
    wanted = repeat_pool(expected, BATCH)
    problems: dict[str, Any] = {}
    installed = [name for name in REAL if registry.backend(name).describe().version is not None]
    assert installed
    for name in installed:
        answer, precision = call_in_worker(
            "zoo_answers:zoo_answer", name, folder, Load(batch=BATCH, threads=2), tmp_path, deadline_s=DEADLINE_S
        )
        failure = judge(compare(answer, wanted, bundle.known_class_axes, scale=1.0), precision)
        if failure is not None or precision != "fp32":
            problems[name] = failure or precision
    assert not problems


@pytest.mark.parametrize("folder", marked(one_of_each_family()), indirect=True)
def test_a_zoo_model_is_optimised_and_measured(folder: Path):
    asked = ("--backends", "ort,openvino", "--optimize", "none,extended", "--quick", "--budget", "1s")
    done = irbench("run", folder, *asked, "--format", "json", timeout_s=4 * DEADLINE_S)
    assert done.code == 0, done.err
    (group,) = done.document["groups"]
    assert {cell["label"]: cell["state"] for cell in group["cells"]} == dict.fromkeys(
        ("ort", "ort+extended", "openvino", "openvino+extended"), "ok"
    )


def test_a_zoo_model_takes_the_multiply_accumulates_that_its_source_says(folder: Path):
    bundle = bundles.load(folder)
    cost = counted(bundle)
    assert (cost.macs, cost.without_macs) == (registry.model(bundle.name).macs or 0, ())


def counted(bundle: Bundle) -> ModelCost:
    """Count what the exported graph costs; how often a loop turns only its recurrent operator tells."""
    graph = bundle.artifact(("onnx",))
    assert graph is not None
    inputs = [spec.bind({FIRST_AXIS: 1, **bundle.defaults}) for spec in graph.inputs]
    cost = cost_of_file(graph.path, inputs)
    if not cost.without_macs:
        return cost
    model = onnx_ir.load(graph.path)
    fold_shapes(model)
    loop_to_gru(model)
    return model_cost(onnx_ir.to_proto(model), inputs)
