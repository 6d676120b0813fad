"""OpenVINO without irbench: Python that runs a model as a load asks for."""

from __future__ import annotations

from irbench.spec import Load
from irbench.spi import UsedModel
from irbench_openvino.properties import pinned_properties

__all__ = ["usage"]


def usage(model: UsedModel, load: Load, target: str) -> str:
    """Return Python that compiles a model and calls it.

    Args:
        model: What is compiled.
        load: How it is driven.
        target: OpenVINO's name of the device.
    """
    lines = [f"    {key!r}: {value!r}," for key, value in {**pinned_properties(load), **load.options}.items()]
    calls = _CONCURRENT if load.streams > 1 else _SYNC
    return "\n".join(
        (
            "import openvino",
            "",
            "core = openvino.Core()",
            f"model = core.read_model({model.path!r})",
            *([f"model.reshape({_shapes(model)!r})"] if model.shapes else []),
            f"compiled = core.compile_model(model, {target!r}, {{",
            *lines,
            "})",
            *(line.format(streams=load.streams) for line in calls),
        )
    )


def _shapes(model: UsedModel) -> dict[str, list[int]]:
    return {name: list(shape) for name, shape in model.shapes.items()}


_SYNC = ("request = compiled.create_infer_request()", "outputs = request.infer(inputs)  # arrays by input name")
_CONCURRENT = (
    "queue = openvino.AsyncInferQueue(compiled, {streams})",
    "queue.set_callback(lambda request, number: use(number, request.results))",
    "for number, inputs in enumerate(batches):  # arrays by input name",
    "    queue.start_async(inputs, number)",
    "queue.wait_all()",
)
