"""Inputs that trained models recognise: rendered text, synthesised speech, chords, and the beginnings of files.

All are computed from a number, so that every machine has the same ones, and nothing is downloaded.
"""

from __future__ import annotations

import gzip
import json
import zlib

import numpy as np
from numpy.typing import NDArray

LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What can be written: a font of five columns for each, from the left, with the top in the lowest of seven bits."""

_COLUMNS = bytes.fromhex(
    "3e5149453e00427f400042615149462141454b311814127f1027454545393c4a49493001710905033649494936064949291e"
    "7e1111117e7f494949363e414141227f4141221c7f494949417f090909013e4149497a7f0808087f00417f41002040413f01"
    "7f081422417f404040407f020c027f7f0408107f3e4141413e7f090909063e4151215e7f09192946464949493101017f0101"
    "3f4040403f1f2040201f3f4038403f6314081463070870080761514945 43".replace(" ", "")
)
_ROWS, _WIDE = 7, 5
_MARGIN = 3
_INK, _PAPER = 0.1, 0.95
_FORMANTS_HZ = ((730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410))
"""The first three of five vowels of a man's voice: Peterson and Barney, "Control Methods Used in a Study of the
Vowels", JASA 24 (1952)."""
_BANDWIDTH_HZ = 90.0
_SYLLABLE_S = 0.22

Floats = NDArray[np.float32]


def words(seed: int, count: int, length: int = 6) -> str:
    """Return some words of random letters."""
    random = np.random.default_rng((1, seed))
    return " ".join("".join(random.choice(list(LETTERS), length)) for _ in range(count))


def line_of_text(text: str, height: int, width: int) -> Floats:
    """Return dark letters on light paper, in [0, 1] and of shape (height, width), cut off at the right end."""
    scale = max(height // (_ROWS + 2 * _MARGIN), 1)
    gap = np.zeros((_ROWS, 1), bool)
    letters = [np.hstack([letter_pixels(letter), gap]) for letter in text]
    inked = np.kron(np.hstack(letters), np.ones((scale, scale), bool))[:height, : width - _MARGIN * scale]
    image = np.full((height, width), _PAPER, np.float32)
    top, left = (height - inked.shape[0]) // 2, min(_MARGIN * scale, width)
    image[top : top + inked.shape[0], left : left + inked.shape[1]][inked] = _INK
    return _softened(image, scale)


def page_of_text(seed: int, height: int, width: int, line_height: int = 48) -> Floats:
    """Return lines of text below each other, every other one empty; as :func:`line_of_text`."""
    page = np.full((height, width), _PAPER, np.float32)
    for number, top in enumerate(range(line_height // 2, height - line_height, 2 * line_height)):
        page[top : top + line_height] = line_of_text(words(1000 * seed + number, 2), line_height, width)
    return page


def speech(seed: int, seconds: float, rate_hz: int = 16000) -> Floats:
    """Return vowels with pauses: a voice's harmonics, weighted by the resonances of the vowel, in [-1, 1]."""
    random = np.random.default_rng((2, seed))
    time_s = np.arange(round(seconds * rate_hz)) / rate_hz
    syllable = (time_s / _SYLLABLE_S).astype(int)
    vowel = random.integers(0, len(_FORMANTS_HZ), syllable.max() + 1)
    spoken = random.random(syllable.max() + 1) < 0.8
    spoken[0] = True
    pitch_hz = random.uniform(95, 180) * (1 + 0.08 * np.sin(2 * np.pi * 2.5 * time_s))
    phase = 2 * np.pi * np.cumsum(pitch_hz) / rate_hz
    resonances_hz = np.array(_FORMANTS_HZ, float)[vowel[syllable]]
    voice = np.zeros_like(time_s)
    for harmonic in range(1, 36):
        distance = (harmonic * pitch_hz[:, None] - resonances_hz) / _BANDWIDTH_HZ
        voice += (1 / (1 + distance**2)).sum(axis=1) / np.sqrt(harmonic) * np.sin(harmonic * phase)
    envelope = np.sin(np.pi * (time_s / _SYLLABLE_S % 1)) ** 0.5 * spoken[syllable]
    sound = voice * envelope + 0.002 * random.standard_normal(time_s.size)
    return _scaled(sound, 0.4)


def vad_window(seed: int, samples: int) -> Floats:
    """Return a piece of speech, or of a quiet room for every third seed."""
    if seed % 3 == 2:
        return (0.001 * np.random.default_rng((3, seed)).standard_normal(samples)).astype(np.float32)
    start = 800 + 64 * seed
    return speech(seed, (start + samples) / 16000 + 0.1)[start : start + samples]


def chord(seed: int, samples: int, rate_hz: int = 22050) -> Floats:
    """Return three notes of the tempered scale with decaying overtones, struck one after the other, in [-1, 1]."""
    random = np.random.default_rng((4, seed))
    time_s = np.arange(samples) / rate_hz
    sound = 0.001 * random.standard_normal(samples)
    for number, note in enumerate(random.integers(45, 76, 3)):
        since_s = np.maximum(time_s - 0.3 * number, 0)
        pitch_hz = 440 * 2 ** ((note - 69) / 12)
        for overtone in range(1, 6):
            sound += np.sin(2 * np.pi * overtone * pitch_hz * since_s) * np.exp(-3 * overtone * since_s) / overtone**1.5
    return _scaled(sound, 0.5)


def file_bytes(seed: int) -> bytes:
    """Return the content of a small file: of six kinds, in turn."""
    text = words(seed, 200, 5).lower()
    python = "".join(
        f"def f_{word}(x: int) -> int:\n    return x * {number}\n\n" for number, word in enumerate(text.split())
    )
    kinds = (
        python.encode(),
        json.dumps({word: list(range(number)) for number, word in enumerate(text.split()[:40])}, indent=2).encode(),
        gzip.compress(text.encode() * 20, mtime=0),
        _png(page_of_text(seed, 96, 96)),
        ("<!DOCTYPE html>\n<html><body>\n" + "".join(f"<p>{word}</p>\n" for word in text.split())).encode(),
        ("word,count\n" + "".join(f"{word},{number}\n" for number, word in enumerate(text.split()))).encode(),
    )
    return kinds[seed % len(kinds)]


def _scaled(sound: NDArray[np.float64], peak: float) -> Floats:
    return np.asarray(peak * sound / np.abs(sound).max(), np.float32)


def letter_pixels(letter: str) -> NDArray[np.bool_]:
    """Return the pixels of a letter, of shape (7, 5); none of what is not in :data:`LETTERS`."""
    position = LETTERS.find(letter)
    columns = _COLUMNS[position * _WIDE : (position + 1) * _WIDE] if position >= 0 else bytes(_WIDE)
    return np.array([[column >> row & 1 for column in columns] for row in range(_ROWS)], bool)


def _softened(image: Floats, radius: int) -> Floats:
    """Return an image with the corners of its pixels rounded: letters of blocks look like none that were trained on."""
    kernel = np.hanning(radius + 3)[1:-1]
    kernel /= kernel.sum()
    for axis in (0, 1):
        image = np.apply_along_axis(
            lambda line: np.convolve(np.pad(line, len(kernel), "edge"), kernel, "same"), axis, image
        )
        image = np.take(image, range(len(kernel), image.shape[axis] - len(kernel)), axis)
    return image.astype(np.float32)


def _png(image: Floats) -> bytes:
    """Return a grey image as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)

    height, width = image.shape
    rows = b"".join(b"\0" + (row * 255).astype(np.uint8).tobytes() for row in image)
    header = width.to_bytes(4) + height.to_bytes(4) + bytes([8, 0, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
