"""Compare an exported graph with the original model on inputs that a user gave."""

from __future__ import annotations

from pathlib import Path

from irbench import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.options.asked_inputs import AskedInputs
from irbench.output_check import compare, judge
from irbench.record import OutputError
from irbench.runner.inputs import read_data, refuse_unknown_values
from irbench.runner.reference import computed_outputs, inputs_scale, references_for
from irbench.spec import RANDOM_DRAWS, Bundle, Workload
from irbench.worker.scratch import scratch_folder

_DEADLINE_S = 900.0


def check_on_inputs(bundle: Bundle, asked: AskedInputs, deadline_s: float | None = None) -> OutputError:
    """Compare the ONNX graph of a bundle, on a reference, with the original framework.

    Args:
        bundle: Its paths are absolute.
        asked: Data and constants.
        deadline_s: How long each of the two may compute; 15 minutes unless given.

    Returns:
        The worst error over all samples.

    Raises:
        IrbenchError: The data do not fit the model, one of both cannot run it, or the outputs differ.
    """
    if RANDOM_DRAWS in bundle.details:
        raise IrbenchError(
            f"{bundle.name} draws random numbers, so that it cannot be compared with the original on these inputs.",
            hint="Leave --data and --value out.",
        )
    refuse_unknown_values(asked, (bundle,))
    with scratch_folder() as folder:
        workload = _workload(bundle, asked, folder)
        first = {kind: name for kind, name, _ in reversed(tuple(references_for(workload)))}
        missing = next((kind for kind in (registry.BACKENDS, registry.REFERENCES) if kind not in first), None)
        if missing is not None:
            raise IrbenchError(
                f"{bundle.name} cannot be compared on these inputs: no installed backend can run both its forms.",
                hint="Install TensorFlow and ONNX Runtime, or leave --data and --value out.",
                exit_code=ExitCode.NOT_INSTALLED,
            )
        expected, answers = (
            computed_outputs((kind, first[kind]), workload, (), folder, deadline_s or _DEADLINE_S)
            for kind in (registry.BACKENDS, registry.REFERENCES)
        )
        scale = inputs_scale(workload)
    pairs = zip(answers, expected, strict=True)
    try:
        errors = [compare(outputs, right, bundle.classifier, scale) for outputs, right in pairs]
    except ValueError as problem:
        raise _different(bundle, str(problem)) from problem
    worst = max(errors, key=lambda error: error.max_rel)
    wrong = judge(worst, "fp32")
    if wrong is not None:
        raise _different(bundle, wrong.message)
    return worst


def _workload(bundle: Bundle, asked: AskedInputs, folder: Path) -> Workload:
    data = read_data(asked, bundle, {})
    sizes = data.bind(None, {})
    feeding = data.feeding(sizes, bundle.seed, folder / "inputs")
    return Workload(bundle, sizes, feeding)


def _different(bundle: Bundle, reason: str) -> IrbenchError:
    return IrbenchError(
        f"The ONNX model of {bundle.name} differs from the original model on these inputs: {reason}.",
        hint="The conversion went wrong for such inputs; a new export is not kept.",
        exit_code=ExitCode.DIFFERENT,
    )
