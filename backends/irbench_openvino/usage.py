"""OpenVINO without irbench: Python that runs a model as a load asks for."""

from __future__ import annotations

from irbench.spec import Load
from irbench_openvino.properties import HINT_OF_PRECISION, PRECISION

__all__ = ["usage"]


def usage(model: str, load: Load, target: str) -> str:
    """Return Python that compiles a model and calls it.

    Args:
        model: The path of the model.
        load: How it is driven.
        target: OpenVINO's name of the device.
    """
    properties: dict[str, object] = {"NUM_STREAMS": load.streams}
    if load.threads is not None:
        properties["INFERENCE_NUM_THREADS"] = load.threads
    if load.precision != "native" and load.precision_required:
        properties[PRECISION] = HINT_OF_PRECISION[load.precision]
    lines = [f"    {key!r}: {value!r}," for key, value in {**properties, **load.options}.items()]
    calls = _CONCURRENT if load.streams > 1 else _SYNC
    return "\n".join(
        (
            "import openvino",
            "",
            "core = openvino.Core()",
            f"compiled = core.compile_model({model!r}, {target!r}, {{",
            *lines,
            "})",
            *(line.format(streams=load.streams) for line in calls),
        )
    )


_SYNC = ("outputs = compiled.create_infer_request().infer(inputs)  # arrays by input name",)
_CONCURRENT = (
    "queue = openvino.AsyncInferQueue(compiled, {streams})",
    "queue.set_callback(lambda request, number: use(number, request.results))",
    "for number, inputs in enumerate(batches):  # arrays by input name",
    "    queue.start_async(inputs, number)",
    "queue.wait_all()",
)
