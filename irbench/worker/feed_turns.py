"""The feeds of a cell or of the reference, and the order in which they take turns."""

from __future__ import annotations

import math
from collections.abc import Mapping

from irbench.core.feeds import lay_out, logical_inputs
from irbench.errors import IrbenchError
from irbench.measure.drive import Loop, SampleTurns, Turns
from irbench.spec import Artifact, Bundle, Feeding, shape_text
from irbench.spi import Feed, Outputs

EQUAL_SHAPES = (
    "--feedback needs equal shapes and dtypes. A decoder whose cache grows with each token is measured by --generate"
    " 128, for example, which feeds it back; any other state needs a fixed size in the model."
)


def takes_turns(feeding: Feeding) -> bool:
    """Whether a slot is not given the same in every call."""
    return feeding.count > 1 or bool(feeding.feedback)


def feeds_of_samples(
    bundle: Bundle, sizes: Mapping[str, int], feeding: Feeding, artifact: Artifact, copies: int = 1
) -> tuple[Feed, ...]:
    """Return each sample as an artifact takes it, in memory of its own; all samples, then all again for each copy."""
    logical = [logical_inputs(bundle.inputs, sizes, feeding, sample) for sample in range(feeding.count)]
    return tuple(lay_out(arrays, artifact) for _ in range(copies) for arrays in logical)


def turns_of_streams(
    bundle: Bundle, sizes: Mapping[str, int], feeding: Feeding, artifact: Artifact, streams: int
) -> tuple[Turns, ...]:
    """Return what each stream is given call by call.

    Streams share samples, and there are so many copies of them that no two read the same memory at a time. Streams of
    a decode loop each have a loop of their own.
    """
    if not feeding.feedback:
        copies = math.ceil(streams / feeding.count)
        return (SampleTurns(feeds_of_samples(bundle, sizes, feeding, artifact, copies)),) * streams
    fed_back = places_of_feedback(bundle, feeding, artifact)
    permutations = {place: order for place in fed_back if (order := artifact.inputs[place].permutation) is not None}
    return tuple(
        Loop(feeds_of_samples(bundle, sizes, feeding, artifact), fed_back, permutations) for _ in range(streams)
    )


def places_of_feedback(bundle: Bundle, feeding: Feeding, artifact: Artifact) -> dict[int, int]:
    """Return the places of outputs by those of the inputs that they become."""
    inputs = [spec.tensor.name for spec in bundle.inputs]
    outputs = [spec.name for spec in artifact.outputs]
    return {
        inputs.index(input_name): outputs.index(output_name) for input_name, output_name in feeding.feedback.items()
    }


class BrokenLoop(IrbenchError):
    """An output cannot be the next call's input."""


def require_loop(bundle: Bundle, feeding: Feeding, artifact: Artifact, feed: Feed, outputs: Outputs) -> None:
    """Refuse a decode loop whose outputs cannot be the next call's inputs.

    Raises:
        BrokenLoop: An output has another shape or dtype than its input.
        IrbenchError: There are no outputs, as a user's own code may return none.
    """
    if feeding.feedback and not outputs:
        raise IrbenchError("It returns no outputs, which --feedback makes inputs of.", hint="Return the outputs.")
    for place, source in places_of_feedback(bundle, feeding, artifact).items():
        order, initial = artifact.inputs[place].permutation, feed[place]
        output = outputs[source] if order is None else outputs[source].transpose(order)
        if (output.shape, output.dtype) != (initial.shape, initial.dtype):
            raise BrokenLoop(
                f"The output {artifact.outputs[source].name} ({output.dtype}, {shape_text(output.shape)}) cannot be fed"
                f" back: the input {artifact.inputs[place].name} is {initial.dtype}, {shape_text(initial.shape)}.",
                hint=EQUAL_SHAPES,
            )
