"""Images as inputs of a program: read as they were for the measurement, so that a file can be given to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from irbench.data.images import MODES, is_image_input
from irbench.data.model_inputs import model_inputs
from irbench.spec import Artifact, Workload

IMPORTS = ("import sys", "from PIL import Image, ImageOps")
_FUNCTIONS = '''\
BATCH = {batch}  # images in a call


def read_image(path):
    """Return an image as it was read for the measurement: upright, {width} x {height} pixels, {range}."""
    with Image.open(path) as image:
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I"):  # grey in 16 bits
            image = Image.fromarray(numpy.rint(numpy.asarray(image) * (255 / 65535)).astype("uint8"))
        pixels = numpy.asarray(image.convert({mode!r}).resize(({width}, {height}), Image.Resampling.BILINEAR))
    pixels = pixels.reshape({height}, {width}, {channels}){moved}
    return {scaled}.astype({dtype!r})


def read_images(paths):
    """Return the inputs of a call with these images; they are repeated where a call takes more."""
    images = [read_image(path) for path in paths]
    inputs = example()
{lines}
    return inputs


def show_images(model, paths):
    """Run images given on the command line, and print where their outputs are largest."""
    batches = [read_images(paths[place:place + BATCH]) for place in range(0, len(paths), BATCH)]
{run}
    for place, path in enumerate(paths):
        for name, output in zip(OUTPUTS, outputs[place // BATCH]):
            values = output[place % BATCH] if output.shape[:1] == (BATCH,) else output
            print(f"{{path}}: {{name}} {{values.shape}} is largest at {{values.argmax()}}: {{values.max():.4g}}")'''
_ONE_BY_ONE = "caller = Caller(model)\n    outputs = [call(caller, inputs) for inputs in batches]"
_TOGETHER = "outputs = run_all(model, batches)"


@dataclass(frozen=True)
class ImageReading:
    """How the images of a measurement were read.

    Attributes:
        workload: The model, whose only image input they are for.
        artifact: The graph that a row ran, whose inputs may be called otherwise and have other layouts.
    """

    workload: Workload
    artifact: Artifact

    def functions(self, *, several: bool) -> str:
        """Return the functions of a program that read images and run them; ``several`` is with ``run_all``."""
        workload, bundle = self.workload, self.workload.bundle
        inputs = model_inputs(bundle, workload.batch)
        (place,) = (place for place, each in enumerate(inputs) if is_image_input(each))
        image, tensor = inputs[place], inputs[place].spec.tensor
        shape = [int(size) for size in tensor.bind(workload.sizes).shape]
        batch_axis = image.batch_axis
        if batch_axis is not None:
            shape.pop(batch_axis)
        axis = 0 if shape[0] in MODES and (shape[0] != 4 or shape[2] not in MODES) else 2
        channels = shape.pop(axis)
        height, width = shape
        low, high = image.spec.low, image.spec.high
        is_float = np.dtype(tensor.dtype).kind == "f"
        return _FUNCTIONS.format(
            width=width,
            height=height,
            channels=channels,
            mode=MODES[channels],
            range=f"{low:g} for black to {high:g} for white" if is_float else "0 for black to 255 for white",
            moved=".transpose(2, 0, 1)" if axis == 0 else "",
            scaled=f"({low!r} + {high - low!r} * (pixels / 255))" if is_float else "pixels",
            dtype=self.artifact.inputs[place].dtype,
            batch=workload.batch,
            lines="\n".join(f"    {line}" for line in self._lines(place, batch_axis)),
            run=f"    {_TOGETHER if several else _ONE_BY_ONE}",
        )

    def _lines(self, place: int, batch_axis: int | None) -> Iterator[str]:
        """Yield what puts images, and the constants of other inputs, into the inputs of a call."""
        specs = self.artifact.inputs
        stacked = "images[0]"
        if batch_axis is not None:
            repeated = "[images[place % len(images)] for place in range(BATCH)]"
            stacked = f"numpy.stack({repeated}, axis={batch_axis})"
        order = specs[place].permutation
        laid_out = stacked if order is None else f"{stacked}.transpose({tuple(order)})"
        yield f"inputs[{specs[place].name!r}] = numpy.ascontiguousarray({laid_out})"
        for spec, own in zip(self.workload.bundle.inputs, specs, strict=True):
            if numbers := self.workload.feeding.values.get(spec.tensor.name):
                yield f"inputs[{own.name!r}][:] = numpy.array({numbers!r}, {own.dtype!r})"
