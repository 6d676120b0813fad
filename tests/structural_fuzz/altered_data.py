"""Samples for ``--data`` with hostile values in valid places: arrays, archives of them, images, data sets, folders."""

from __future__ import annotations

import contextlib
import io
import random
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from onnx import TensorProto

from irbench.data.model_inputs import model_inputs
from irbench.data.sample_reading import DataTarget
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec

from .hostile_values import INTEGERS, OUTSIDE, TEXTS, is_seldom

_SIZES = (0, 1, 3, -1, 2**31, 2**40, 2**63 - 1, 10**30)
_TYPES = (
    "<f4",
    "<f4",
    "<f4",
    "<f8",
    ">f4",
    "|O",
    "|V8",
    "<U9",
    "<U999999999",
    "|S0",
    "<i8",
    "|b1",
    "<M8[s]",
    "<c16",
    "f4,i8",
    "x",
)
_MEMBERS = ("x", "x", "x.npy", "sr.npy", "arr_0.npy", "../x.npy", "/etc/x.npy", "a/b.npy", ".npy", "")
_HEADERS = (
    "{{'descr': {0!r}, 'fortran_order': {1}, 'shape': {2}, }}",
    "{{'descr': {0!r}, 'fortran_order': {1}, 'shape': {2}, 'more': 1}}",
    "{{'descr': [('a', {0!r}), ('a', {0!r})], 'fortran_order': {1}, 'shape': {2}}}",
    "__import__('os').mkdir('" + OUTSIDE + "')",
    "[" * 500,
    "{0!r}",
)
_IMAGES = (b"P6\n%d %d\n255\n", b"GIF89a", b"BM", b"\xff\xd8\xff\xe0", b"II*\0", b"RIFF\xff\xff\xff\xffWEBPVP8 ", b"")


def data_target(chance: random.Random) -> DataTarget:
    """Return the inputs that samples are for: of numbers, or of an image, alone or with another."""
    specs = [TensorSpec("x", "float32", chance.choice((("batch", 3), ("batch", 3, 8, 8), ("batch", "h", "w", 3))))]
    if is_seldom(chance, 3):
        specs.append(TensorSpec("sr", "int64", ()))
    bundle = Bundle("m", tuple(map(InputSpec, specs)), (Artifact("onnx", Path(), tuple(specs), ()),))
    return DataTarget("m", model_inputs(bundle, None), frozenset(), {"h": 8, "w": 8}, 1 << 24)


def write_data(folder: Path, chance: random.Random) -> Path:
    """Write one to three samples into a folder, and return the path that is given: the folder or one of them."""
    ways = (("npy", _array), ("npz", _archive), ("png", _image), ("jpg", _image), ("pb", _tensor))
    ending, make = chance.choice(ways)
    names = ("input_0", "input_0", "output_0") if ending == "pb" else ("x", "sr", "a", "10", "\x1b[31m", "-rf")
    paths = [folder / f"{name}.{ending}" for name in chance.sample(names, chance.choice((1, 1, 2, 3)))]
    for path in paths:
        path.write_bytes(make(chance))
    if is_seldom(chance, 6):
        with contextlib.suppress(OSError):
            (folder / f"z.{ending}").symlink_to(chance.choice(("/dev/zero", "/etc/passwd", "z." + ending, OUTSIDE)))
    return folder if ending == "pb" or is_seldom(chance, 2) else paths[0]


def _array(chance: random.Random) -> bytes:
    good = io.BytesIO()
    np.save(good, np.zeros((1, 3), np.float32))
    if is_seldom(chance, 5):
        return good.getvalue()[: chance.randrange(len(good.getvalue()))]
    if is_seldom(chance, 3):
        return good.getvalue()
    shape = tuple(chance.choice((*_SIZES, 1, 3, 3)) for _ in range(chance.choice((0, 1, 2, 2, 4, 70))))
    asked = (
        chance.choice(_TYPES),
        chance.choice(("False", "False", "True", "None")),
        chance.choice((repr(shape), "3", "'ab'")),
    )
    header = chance.choice((*_HEADERS[:1] * 6, *_HEADERS)).format(*asked).encode() + b"\n"
    version, form = chance.choice(((1, "<H"), (1, "<H"), (1, "<H"), (2, "<I"), (3, "<I"), (9, "<H")))
    length = len(header) if not is_seldom(chance, 6) else chance.choice((0, 1, 65_535))
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(form, length) + header + bytes(chance.choice((0, 12, 4096)))


def _archive(chance: random.Random) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for _ in range(chance.choice((0, 1, 1, 2, 40))):
            name = chance.choice((*_MEMBERS, chance.choice(TEXTS[:20]).replace("\ud800", "")))
            content = bytes(1 << 22) if is_seldom(chance, 8) else _array(chance)
            with contextlib.suppress(ValueError, UnicodeError, struct.error), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # names that are there already
                archive.writestr(zipfile.ZipInfo(name or "x"), content)
    data = bytearray(made.getvalue())
    if is_seldom(chance, 2):  # sizes, offsets and flags stand anywhere in it
        for _ in range(chance.choice((1, 4))):
            data[chance.randrange(len(data))] = chance.choice((0, 1, 8, 99, 255))
    return bytes(data)


def _image(chance: random.Random) -> bytes:
    if is_seldom(chance, 3):
        start = chance.choice(_IMAGES)
        start = start % (chance.choice(INTEGERS), 9) if b"%d" in start else start
        return start + bytes(chance.randrange(256) for _ in range(chance.choice((0, 9, 200))))
    width, height = (chance.choice((1, 8, 8, 0, 4096, 2**31 - 1, 2**32 - 1)) for _ in range(2))
    depth, colours = chance.choice((8, 8, 16, 99)), chance.choice((2, 2, 0, 3, 6, 9))
    fields = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, chance.choice((0, 1)))
    content = zlib.compress(bytes(chance.choice((25 * 8, 0, 1 << 22))))
    parts = [_chunk(b"IHDR", fields), _chunk(b"IDAT", content), _chunk(b"IEND", b"")]
    if is_seldom(chance, 3):
        text = zlib.compress(bytes(8 << 20))
        parts.insert(1, _chunk(chance.choice((b"zTXt", b"iCCP", b"eXIf", b"tRNS", b"PLTE", b"acTL")), b"a\0\0" + text))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts[: chance.choice((1, 2, 4, 4, 4))])


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _tensor(chance: random.Random) -> bytes:
    tensor = TensorProto(name="x", data_type=chance.choice((1, 1, 1, 0, 8, 10, 16, 22, 99)))
    tensor.dims.extend(chance.choice((1, 3, 3, *filter(lambda size: size < 2**63, _SIZES))) for _ in range(2))
    _fill(tensor, chance)
    data = tensor.SerializeToString()
    return data[: chance.randrange(len(data))] if is_seldom(chance, 6) else data


def _fill(tensor: TensorProto, chance: random.Random) -> None:
    ways: tuple[Callable[[], object], ...] = (
        lambda: tensor.ClearField("name"),
        lambda: tensor.float_data.extend([0.0] * chance.choice((1, 3, 9))),
        lambda: tensor.string_data.extend([b"a", b"\xff"]),
        lambda: tensor.external_data.add(key="location", value=chance.choice(("/etc/passwd", "../x", "x", "\0"))),
    )
    if is_seldom(chance, 2):
        tensor.raw_data = bytes(chance.choice((12, 0, 11, 4096)))
    chance.choice(ways)()
    if tensor.external_data:
        tensor.data_location = TensorProto.EXTERNAL
