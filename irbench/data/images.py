"""Images as inputs: resized to the size of the input, in its layout, scaled to its range."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from irbench.data.model_inputs import ModelInput
from irbench.errors import ExitCode, IrbenchError, first_line
from irbench.spec import InputSpec, shape_text
from irbench.spi import Array, install_command
from irbench.system.file_access import open_regular

SUFFIXES = (".png", ".jpg", ".jpeg")
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
"""How Pillow calls an image with so many channels."""
_WHITE = 255
_WHITE_OF_16_BITS = 65535


def is_image_input(model_input: ModelInput) -> bool:
    """Whether an input takes images: a batch of them, or one, with 1, 3 or 4 channels first or last."""
    return _channel_axis(model_input) is not None


def read_image(file: Path, model_input: ModelInput, sizes: Mapping[str, int]) -> Array:
    """Return a PNG or JPEG image with the axes of the input, without its batch.

    Floating-point inputs get pixels scaled from black and white to the ends of the input's range; integers get 0 to
    255.
    """
    axis = _channel_axis(model_input)
    assert axis is not None
    shape = [
        sizes.get(size, size) if isinstance(size, str) else size
        for place, size in enumerate(model_input.spec.tensor.shape)
        if place != model_input.batch_axis
    ]
    channels = shape.pop(axis)
    if not all(isinstance(size, int) for size in shape):
        raise IrbenchError(
            f"The input {model_input.name} takes images of any size ({shape_text(model_input.spec.tensor.shape)}).",
            hint=f"Give one: --shape {model_input.name}={_example(model_input)}",
        )
    height, width = map(int, shape)
    pixels = _decoded(file, _MODES[int(channels)], (width, height)).reshape(height, width, int(channels))
    return _scaled(np.asarray(np.moveaxis(pixels, -1, axis), order="C"), model_input.spec)


def _channel_axis(model_input: ModelInput) -> int | None:
    """Return the axis of the channels among those besides the batch; ``None`` where there is none."""
    tensor = model_input.spec.tensor
    axes = [size for place, size in enumerate(tensor.shape) if place != model_input.batch_axis]
    if len(axes) != 3:
        return None
    # sizes of 4 are channels where nothing else can be
    return next((axis for sizes in ((1, 3), (4,)) for axis in (0, 2) if axes[axis] in sizes), None)


def _decoded(file: Path, mode: str, size: tuple[int, int]) -> Array:
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError as error:
        raise IrbenchError(
            "Pillow must be installed to read images.", hint=install_command("pillow"), exit_code=ExitCode.NOT_INSTALLED
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with open_regular(file) as stored, Image.open(stored, formats=("PNG", "JPEG")) as image:
                upright = ImageOps.exif_transpose(image)
                if upright.mode.startswith("I"):  # Pillow would clip 16 bits at 255
                    upright = Image.fromarray(_in_8_bits(np.asarray(upright)))
                return np.asarray(upright.convert(mode).resize(size, Image.Resampling.BILINEAR))
    except Exception as error:  # Pillow's decoders raise what they like
        # Pillow names the object that it read from, and its address
        why = "it is of another kind" if isinstance(error, UnidentifiedImageError) else first_line(error)
        raise IrbenchError(f"{file} is not a readable PNG or JPEG image: {why}.", hint="Write it again.") from error


def _in_8_bits(pixels: Array) -> Array:
    """Return grey pixels of 16 bits with the same black and white in 8."""
    return np.rint(pixels.astype(np.float64) * (_WHITE / _WHITE_OF_16_BITS)).astype(np.uint8)


def _scaled(pixels: Array, spec: InputSpec) -> Array:
    dtype = np.dtype(spec.tensor.dtype)
    if dtype.kind in "iu" and np.iinfo(dtype).max >= _WHITE:
        return pixels.astype(dtype)
    if dtype.kind in "biu":
        raise IrbenchError(
            f"The input {spec.tensor.name} takes {dtype}, which cannot hold pixels from 0 to 255.",
            hint="Write the images as arrays in a .npy or .npz file.",
        )
    return (spec.low + (spec.high - spec.low) * (pixels.astype(np.float64) / _WHITE)).astype(dtype)


def _example(model_input: ModelInput) -> str:
    sizes = model_input.spec.tensor.shape
    return "x".join(
        str(size) if isinstance(size, int) else "1" if place == model_input.batch_axis else "224"
        for place, size in enumerate(sizes)
    )
