"""The images that a model is trained on: written once, or found in a folder of the user's and checked."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from irbench.data.images import images_by_class
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter.source import Source
from irbench.spec.training import ImageFormat, TrainingData
from irbench.spi import Array, install_command
from irbench.spi.training import IMAGE_SUFFIXES
from irbench.system.file_states import digest, exists, is_file, require_utf8
from irbench.system.home import home
from irbench.system.locks import temporary_folder
from irbench.worker import WorkerDied, call_in_worker
from irbench.worker.limited_call import LIMITED_CALL

_CLASSES = 10
"""At most; a model with fewer scores has images of so many classes."""
_TILE = 4
"""Patterns are made of squares of so many pixels, so that convolutions and JPEG keep them."""
_CONTRAST, _NOISE = 0.4, 0.15
"""Of the pattern of a class, and of what differs from image to image, as shares of white."""
_DECODED = 20_000
"""Of more files than that, the first of each class are decoded beforehand, and the headers of the others read."""
_DEADLINE_S = 600.0


@dataclass(frozen=True)
class SyntheticImages:
    """Images of classes that can be told apart, so that a loss can fall: a pattern for each class, and noise.

    Attributes:
        shape: Height, width and channels.
        classes: How many.
        count: Images of all classes together.
    """

    shape: tuple[int, int, int]
    classes: int
    count: int
    seed: int
    format: ImageFormat

    def written(self) -> TrainingData:
        """Return the images, which are written where they are not there yet."""
        digest = sha256(json.dumps(asdict(self)).encode()).hexdigest()[:16]
        folder = home() / "training-images" / f"{self.format}-{digest}"
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with temporary_folder(folder.parent, ".writing-") as aside:
                self._write(aside / "images")
                (aside / "images").rename(folder)
        return TrainingData(str(folder), tuple(map(self._name, range(self.classes))), self.count, synthetic=True)

    def _write(self, folder: Path) -> None:
        image = _pillow()
        generator = np.random.default_rng(self.seed)
        height, width, channels = self.shape
        tiles = (-(-height // _TILE), -(-width // _TILE), channels)
        patterns = generator.random((self.classes, *tiles)).repeat(_TILE, 1).repeat(_TILE, 2)[:, :height, :width]
        for label in range(self.classes):
            (folder / self._name(label)).mkdir(parents=True)
        for number in range(self.count):
            label = number % self.classes
            noise = generator.normal(0.0, _NOISE, self.shape)
            pixels = 0.5 + _CONTRAST * (patterns[label] - 0.5) + noise
            path = folder / self._name(label) / f"{number:06d}.{self.format}"
            path.write_bytes(_encoded(image, pixels, self.format))

    @staticmethod
    def _name(label: int) -> str:
        return f"class-{label:02d}"


def classes_for(scores: int) -> int:
    """Return of how many classes images are, for a model with so many scores."""
    return min(_CLASSES, max(2, scores))


def _encoded(image: Any, pixels: Array, image_format: ImageFormat) -> bytes:
    whole = np.clip(255 * pixels, 0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    image.fromarray(whole[..., 0] if whole.shape[-1] == 1 else whole).save(buffer, format=image_format)
    return buffer.getvalue()


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise IrbenchError(
            "Pillow must be installed to write images.",
            hint=install_command("pillow"),
            exit_code=ExitCode.NOT_INSTALLED,
        ) from error
    return Image


def data_of_function(named: str) -> TrainingData:
    """Return the samples that a function of the user's makes; whether it is there is found out when it is called."""
    file = Source(named).code_file
    return TrainingData(named, sha256=digest(file) if file is not None and is_file(file) else "")


def images_in(folder: Path) -> TrainingData:
    """Return the images of a folder, one folder for each class, once the first were decoded and all headers read.

    Raises:
        IrbenchError: There are none, or one cannot be read.
    """
    require_utf8(folder)
    if not folder.is_dir():
        problem = f"{folder} is a file, not a folder." if exists(folder) else f"There is no folder {folder}."
        raise IrbenchError(
            problem, hint="Give a folder with one folder of images per class, or file.py:function that makes a dataset."
        )
    files = images_by_class(folder)
    if not files:
        raise IrbenchError(
            f"{folder} has no folder with images.",
            hint=f"Put the images of each class into a folder of its own ({', '.join(IMAGE_SUFFIXES)}).",
        )
    _require_decodable(tuple(files.values()), folder)
    count = sum(map(len, files.values()))
    return TrainingData(str(folder.absolute()), tuple(files), count, sha256=_digest_of_states(files.values()))


def require_scores(data: TrainingData, scores: int) -> None:
    """Refuse data with more classes than a model has scores; a single score tells two classes apart."""
    if 1 < scores < len(data.classes):
        raise IrbenchError(
            f"{data.source} has {len(data.classes)} classes, and the model has {scores} scores.",
            hint="Give a model with as many scores, or fewer folders.",
        )


def _digest_of_states(classes: Iterable[tuple[Path, ...]]) -> str:
    """Return a digest of names, sizes and times of change: reading all images would take minutes."""
    found = ((path, path.stat()) for files in classes for path in files)
    states = [(str(path), state.st_size, state.st_mtime_ns) for path, state in found]
    return sha256(json.dumps(states).encode()).hexdigest()


def _require_decodable(classes: tuple[tuple[Path, ...], ...], folder: Path) -> None:
    most = max(1, _DECODED // len(classes))
    decoded = [path.absolute() for files in classes for path in files[:most]]
    others = [path.absolute() for files in classes for path in files[most:]]
    images = (*decoded, *others)
    try:
        call_in_worker(LIMITED_CALL, "irbench.data.images:require_images", images, len(decoded), deadline_s=_DEADLINE_S)
    except WorkerDied as death:
        raise death.during(f"The images in {folder} could not be read.") from death


def require_batches(data: TrainingData, batches: tuple[int, ...]) -> None:
    """Refuse a batch that is larger than the data: a step would see a sample twice."""
    if data.samples and max(batches) > data.samples:
        raise IrbenchError(
            f"--batch {max(batches)} is larger than the data, which have {data.samples} samples.",
            hint="Give a smaller batch, or more data (`--samples` for synthetic images).",
        )
