"""Announcing the files that TensorFlow and h5py open by themselves, so that irbench records what an export read."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any


def announce() -> None:
    """Have h5py's files and TensorFlow's files and checkpoints raise the audit event that Python's ``open`` does.

    Call it once, after TensorFlow was imported. The two names of TensorFlow are private: if one is gone, this fails.
    """
    import h5py
    from tensorflow.python.lib.io import file_io
    from tensorflow.python.training import py_checkpoint_reader

    _wrap(h5py.File, "__init__", _hear_h5py)
    _wrap(file_io.FileIO, "__init__", _hear_file)
    _wrap(py_checkpoint_reader, "NewCheckpointReader", _hear_checkpoint)


def _wrap(owner: Any, name: str, hear: Callable[..., None]) -> None:
    wrapped = getattr(owner, name)

    @functools.wraps(wrapped)
    def announcing(*args: Any, **keywords: Any) -> Any:
        hear(*args, **keywords)
        return wrapped(*args, **keywords)

    setattr(owner, name, announcing)


def _hear_h5py(_file: Any, name: Any, mode: str = "r", *_: Any, **_keywords: Any) -> None:
    opened(name, mode)


def _hear_file(_file: Any, name: Any, mode: str = "r", *_: Any, **_keywords: Any) -> None:
    opened(name, mode)


def _hear_checkpoint(filepattern: Any) -> None:
    """Announce the files of a checkpoint; its index has a checksum of every tensor, also of those in other parts."""
    for ending in (".index", ".data-00000-of-00001"):
        opened(f"{os.fsdecode(filepattern)}{ending}", "r")


def opened(path: Any, mode: str) -> None:
    """Announce a file that is opened in a mode of h5py or TensorFlow; what is not a path is left out."""
    if isinstance(path, str | bytes | os.PathLike):
        sys.audit("open", path, mode, _flags(mode))


def _flags(mode: str) -> int:
    """Return the flags of ``os.open``: what is replaced is not read, and h5py's ``w-`` replaces nothing."""
    if mode in ("r", "rb"):
        return os.O_RDONLY
    if mode.startswith("r"):
        return os.O_RDWR
    return os.O_RDWR | os.O_CREAT | (os.O_TRUNC if mode in ("w", "wb", "w+", "wb+", "w+b") else 0)
