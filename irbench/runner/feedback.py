"""Check which outputs may become inputs of the next call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irbench.errors import IrbenchError
from irbench.spec import Bundle, TensorSpec, shape_text
from irbench.suggestions import did_you_mean
from irbench.worker.inputs import EQUAL_SHAPES


def check_feedback(feedback: Mapping[str, str], bundle: Bundle, sizes: Mapping[str, int]) -> None:
    """Refuse a decode loop that a model cannot run.

    An output whose shape the model does not tell is checked when it was computed once.

    Args:
        feedback: Outputs by the names of the inputs that they become.
        bundle: The model.
        sizes: A size for every dynamic dimension of its inputs.

    Raises:
        IrbenchError: There is no such input or output, or their dtypes or shapes differ.
    """
    places = {spec.tensor.name: place for place, spec in enumerate(bundle.inputs)}
    for given, made in feedback.items():
        if given not in places:
            raise _unknown("input", given, bundle, list(places))
        for artifact in bundle.artifacts:
            outputs = {spec.name: spec for spec in artifact.outputs}
            if made not in outputs:
                raise _unknown("output", made, bundle, list(outputs))
            _require_equal(outputs[made].bind(sizes), bundle.inputs[places[given]].tensor.bind(sizes))


def _require_equal(output: TensorSpec, given: TensorSpec) -> None:
    pairs = list(zip(output.shape, given.shape, strict=False))
    differ = any(isinstance(made, int) and isinstance(size, int) and made != size for made, size in pairs)
    if differ or len(output.shape) != len(given.shape) or output.dtype != given.dtype:
        raise IrbenchError(
            f"The output {output.name} ({output.dtype}, {shape_text(output.shape)}) cannot be fed back: the input "
            f"{given.name} is {given.dtype}, {shape_text(given.shape)}.",
            hint=EQUAL_SHAPES,
        )


def _unknown(role: str, name: str, bundle: Bundle, known: Sequence[str]) -> IrbenchError:
    return IrbenchError(
        f"--feedback: {bundle.name} has no {role} called {name!r}.",
        hint=f"{did_you_mean(name, known)}{role.capitalize()}s: {', '.join(known)}. Write it like output=input.",
    )
