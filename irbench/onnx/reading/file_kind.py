"""Detect the kind of a model file from its first bytes."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from irbench.errors import IrbenchError

_LOOK_BYTES = 256
_MAX_BYTES = 2**31 - 1
"""Protobuf's own limit for one message: https://protobuf.dev/programming-guides/encoding/."""

_AGAIN = "Download it again; a page in its place may ask for a login."
_STARTS: Mapping[bytes, tuple[str, str]] = {
    b"version https://git-lfs": ("a Git LFS pointer, not the model itself", "Fetch the model: git lfs pull"),
    b"PK\x03\x04": (
        "a ZIP archive",
        "Unpack it and name the .onnx file inside. A .keras file or a PyTorch checkpoint is exported first.",
    ),
    b"\x1f\x8b": ("compressed with gzip", "Unpack it: gunzip --stdout FILE > MODEL.onnx"),
    b"\x89HDF": ("an HDF5 file", "Save it as .keras and name that: irbench run FILE.keras"),
    b"<!doctype html": ("an HTML page", _AGAIN),
    b"<html": ("an HTML page", _AGAIN),
    b"<?xml": ("an XML file", "Name the ONNX file that it was made from."),
    b"{": ("a JSON file", "Name the .onnx file."),
}
_FOURTH_BYTE: Mapping[bytes, str] = {b"TFL3": "a TensorFlow Lite model", b"ORTM": "in ONNX Runtime's own format"}


def require_model_file(path: Path) -> None:
    """Refuse what cannot be an ONNX file, by its first bytes; a file that passes need not be one."""
    if not str(path).isprintable():
        raise IrbenchError(
            f"The name of {path} contains characters that are not printable, which runtimes refuse.",
            hint="Rename the file.",
        )
    start, size = _start_and_size(path)
    if not start:
        raise IrbenchError(f"{path} is empty.", hint="Export or download it again.")
    _refuse_other_formats(path, start)
    if size > _MAX_BYTES:
        raise IrbenchError(
            f"{path} has {size / 1e9:.1f} GB, and an ONNX file can have at most 2 GiB.",
            hint="Save the weights in a separate file: onnx.save(model, FILE, save_as_external_data=True)",
        )


def _start_and_size(path: Path) -> tuple[bytes, int]:
    """Return the first bytes of a regular file, and its size."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise IrbenchError(f"{path} is {kind}.", hint="Give an ONNX file.")
        with path.open("rb") as file:
            return file.read(_LOOK_BYTES), status.st_size
    except FileNotFoundError:
        raise IrbenchError(f"There is no file {path}.", hint="Check the path.") from None
    except OSError as error:
        raise IrbenchError(
            f"{path} cannot be read: {error.strerror or error}.", hint="Give an ONNX file that you can read."
        ) from error


def _refuse_other_formats(path: Path, start: bytes) -> None:
    text = start.lstrip().lower()
    for sign, (what, hint) in _STARTS.items():
        if start.startswith(sign) or text.startswith(sign):
            raise IrbenchError(f"{path} is {what}.", hint=hint.replace("FILE", quote(str(path))))
    other = _FOURTH_BYTE.get(start[4:8])
    if other is not None:
        raise IrbenchError(f"{path} is {other}.", hint="Give the ONNX model that it was made from.")
    if start.isascii() and start.decode("ascii").replace("\n", " ").replace("\r", " ").replace("\t", " ").isprintable():
        raise IrbenchError(f"{path} is a text file.", hint="Give the binary .onnx file.")
