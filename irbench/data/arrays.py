"""NumPy files of unknown origin: no pickles, and nothing larger than the memory that there is for it."""

from __future__ import annotations

import lzma
import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from irbench.errors import IrbenchError, first_line
from irbench.spi import Array
from irbench.system.regular_files import open_regular

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_REMEDY = "Write it again with numpy.save or numpy.savez; arrays of Python objects are not read."
_DAMAGED = (
    OSError,
    ValueError,
    EOFError,
    TypeError,  # a header that is not a mapping
    SyntaxError,  # a header that is no literal
    tokenize.TokenError,
    RuntimeError,  # encrypted, or too deep
    NotImplementedError,  # an unknown compression
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What reading a file raises that is not as NumPy wrote it."""


def read_npy(file: Path, most_bytes: int) -> Array:
    """Return the array of a ``.npy`` file.

    Args:
        file: It.
        most_bytes: What the array may need.

    Raises:
        IrbenchError: It is damaged, holds Python objects, or is larger.
    """
    try:
        with open_regular(file) as stream:
            return _read(stream, file, most_bytes)
    except _DAMAGED as error:
        raise _unreadable(file, error) from error


def read_npz(file: Path, most_bytes: int) -> Mapping[str, Array]:
    """Return the arrays of a ``.npz`` file by name.

    Args:
        file: It.
        most_bytes: What all arrays together may need.

    Raises:
        IrbenchError: It is damaged, holds Python objects, or is larger.
    """
    arrays: dict[str, Array] = {}
    try:
        with open_regular(file) as stored, zipfile.ZipFile(stored) as archive:
            for member in archive.namelist():
                with archive.open(member) as stream:
                    array = _read(stream, file, most_bytes)
                most_bytes -= array.nbytes
                arrays[member.removesuffix(".npy")] = array
    except _DAMAGED as error:
        raise _unreadable(file, error) from error
    if not arrays:
        raise IrbenchError(f"{file} contains no array.", hint=_REMEDY)
    return arrays


def _read(stream: IO[bytes], file: Path, most_bytes: int) -> Array:
    """Read the header first: it says how large the array is, whatever the file's size."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"it has version {version[0]}.{version[1]} of the format")
    shape, fortran_order, dtype = _HEADERS[version](stream)
    if dtype.hasobject:
        raise ValueError("it contains Python objects")
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"it claims the shape {shape}")
    count = math.prod(shape)
    size = count * dtype.itemsize
    if size > most_bytes:
        raise IrbenchError(
            f"{file} needs {size / 1e9:.1f} GB, and {max(0, most_bytes) / 1e9:.1f} GB of memory are left for data.",
            hint="Give fewer samples.",
        )
    content = stream.read(size)
    if len(content) < size:
        raise ValueError("it ends too early")
    array = np.frombuffer(content, dtype, count).reshape(shape[::-1] if fortran_order else shape)
    return array.transpose() if fortran_order else array


def _unreadable(file: Path, error: Exception) -> IrbenchError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
    return IrbenchError(f"{file} cannot be read: {reason}.", hint=_REMEDY)
