"""OpenVINO without irbench: Python that runs a model as a load asks for."""

from __future__ import annotations

from irbench.spec import Load
from irbench.spi import Usage, UsedModel
from irbench_openvino.properties import pinned_properties


def usage(model: UsedModel, load: Load, target: str) -> Usage:
    """Return Python that compiles a model and calls it.

    Args:
        model: What is compiled.
        load: How it is driven.
        target: OpenVINO's name of the device.
    """
    lines = [f"    {key!r}: {value!r}," for key, value in {**pinned_properties(load), **load.options}.items()]
    setup, call = _CONCURRENT if load.streams > 1 else _SYNC
    compiled = "\n".join(
        (
            "import openvino",
            "",
            "core = openvino.Core()",
            f"model = core.read_model({model.path!r})",
            *([f"model.reshape({_shapes(model)!r})"] if model.shapes else []),
            f"compiled = core.compile_model(model, {target!r}, {{",
            *lines,
            "})",
        )
    )
    return Usage(f"{compiled}\n{setup.format(streams=load.streams)}", call)


def _shapes(model: UsedModel) -> dict[str, list[int]]:
    return {name: list(shape) for name, shape in model.shapes.items()}


_SYNC = (
    """\
request = compiled.create_infer_request()
# inputs: arrays by input name""",
    "outputs = request.infer(inputs)",
)
_CONCURRENT = (
    """\
queue = openvino.AsyncInferQueue(compiled, {streams})
queue.set_callback(lambda request, number: use(number, request.results))
# batches: of each, arrays by input name""",
    """\
for number, inputs in enumerate(batches):
    queue.start_async(inputs, number)
queue.wait_all()""",
)
"""What stands before the calls, and the calls."""
