"""Images as inputs: resized to the size of the input, in its layout, scaled to its range."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from irbench.data.model_inputs import ModelInput
from irbench.errors import ExitCode, IrbenchError, first_line
from irbench.spec import InputSpec, shape_text
from irbench.spi import Array, install_command
from irbench.spi.training import image_files
from irbench.system.file_access import open_regular
from irbench.system.file_states import require_utf8

LARGEST_BYTES = 1 << 28
"""Of a file: what the most pixels that Pillow decodes without a warning take in 24 bits."""
MODES = {1: "L", 3: "RGB", 4: "RGBA"}
"""How Pillow calls an image with so many channels."""
_SMALLER = "Make it smaller, or remove it."
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
    pixels = _decoded(file, MODES[int(channels)], (width, height)).reshape(height, width, int(channels))
    return _scaled(np.asarray(np.moveaxis(pixels, -1, axis), order="C"), model_input.spec)


def _channel_axis(model_input: ModelInput) -> int | None:
    """Return the axis of the channels among those besides the batch; ``None`` where there is none."""
    tensor = model_input.spec.tensor
    axes = [size for place, size in enumerate(tensor.shape) if place != model_input.batch_axis]
    if len(axes) != 3:
        return None
    # sizes of 4 are channels where nothing else can be
    return next((axis for sizes in ((1, 3), (4,)) for axis in (0, 2) if axes[axis] in sizes), None)


def images_by_class(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Return the images of a folder that has a folder for each class, by the names of the classes in their order.

    Folders without images are no classes, and hidden files and folders are left out. Nothing is opened.

    Raises:
        IrbenchError: The name of a class is not UTF-8, an image is too large or not a regular file, or a folder cannot
            be read.
    """
    classes: dict[str, tuple[Path, ...]] = {}
    try:
        for own in sorted(folder.iterdir()):
            files = tuple(image_files(own)) if own.is_dir() and not own.name.startswith(".") else ()
            if files:
                require_utf8(own)
                classes[own.name] = files
            for file in files:
                _require_size(file, file.stat())
    except OSError as error:
        raise IrbenchError(
            f"{error.filename or folder} cannot be read: {error.strerror}.", hint="Remove it, or make it readable."
        ) from error
    return classes


def require_images(files: Iterable[Path], decoded: int | None = None) -> None:
    """Decode files, and read the headers alone of the later ones; in a worker because they may come from anywhere.

    Args:
        files: Images.
        decoded: How many are decoded; all where this is ``None``.

    Raises:
        IrbenchError: One is not a readable image.
    """
    for number, file in enumerate(files):
        with _opened(file) as image:
            if decoded is None or number < decoded:
                image.load()


def _decoded(file: Path, mode: str, size: tuple[int, int]) -> Array:
    from PIL import Image, ImageOps

    with _opened(file) as image:
        upright = ImageOps.exif_transpose(image)
        if upright.mode.startswith("I"):  # Pillow would clip 16 bits at 255
            upright = Image.fromarray(_in_8_bits(np.asarray(upright)))
        return np.asarray(upright.convert(mode).resize(size, Image.Resampling.BILINEAR))


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    """Yield an image of Pillow whose header was read, and make an error that names the file of what Pillow raises."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise IrbenchError(
            "Pillow must be installed to read images.", hint=install_command("pillow"), exit_code=ExitCode.NOT_INSTALLED
        ) from error
    try:
        with warnings.catch_warnings(), open_regular(file) as stored:
            _require_size(file, os.fstat(stored.fileno()))
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(stored, formats=("PNG", "JPEG")) as image:
                yield image
    except IrbenchError:
        raise
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        most = f"{(Image.MAX_IMAGE_PIXELS or 0) / 1e6:.0f} million"
        raise IrbenchError(f"{file} has more than {most} pixels.", hint=_SMALLER) from error
    except MemoryError as error:
        raise IrbenchError(f"Decoding {file} needs more memory than is available.", hint=_SMALLER) from error
    except Exception as error:  # Pillow's decoders raise what they like
        # Pillow names the object that it read from, and its address
        why = "it is of another kind" if isinstance(error, UnidentifiedImageError) else first_line(error)
        raise IrbenchError(f"{file} is not a readable PNG or JPEG image: {why}.", hint="Write it again.") from error


def _require_size(file: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise IrbenchError(f"{file} is not a regular file.", hint="Remove it.")
    if status.st_size > LARGEST_BYTES:
        raise IrbenchError(
            f"{file} has {status.st_size / 1e9:.1f} GB, and images have at most {LARGEST_BYTES / 1e9:.2f} GB.",
            hint=_SMALLER,
        )


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
