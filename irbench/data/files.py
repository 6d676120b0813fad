"""Which files of a folder are samples."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from irbench.data.images import SUFFIXES
from irbench.errors import IrbenchError
from irbench.system.file_states import exists, is_file, is_folder

Kind: TypeAlias = Literal["data-set", "archive", "array", "image"]

_KINDS: dict[Kind, tuple[str, ...]] = {"archive": (".npz",), "array": (".npy",), "image": SUFFIXES}
_FORMS = (
    ".npz and .npy files, PNG and JPEG images, and test_data_set_* folders with input_0.pb and so on are read; "
    "other subfolders are not."
)
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class SampleFiles:
    """The samples of a folder, all of one kind, in the order of their names: 10 comes after 9.

    Attributes:
        kind: ``data-set`` for folders of the ONNX convention.
        paths: At least one file, or folder of a data set.
    """

    kind: Kind
    paths: tuple[Path, ...]


def find_samples(path: Path) -> SampleFiles:
    """Return the samples at a path: a file, a data set, or a folder of either.

    Raises:
        IrbenchError: There is none, or they are of several kinds.
    """
    if not exists(path):
        raise IrbenchError(f"There is no file or folder {path}.", hint="Check the path given with --data.")
    found = _in_folder(path) if is_folder(path) else _of_files([path])
    if not found:
        raise IrbenchError(f"{path} contains no samples.", hint=_FORMS)
    if len(found) > 1:
        raise IrbenchError(
            f"{path} contains samples of several kinds: {' and '.join(paths[0].name for paths in found.values())}.",
            hint="Put the samples of one kind into a folder of their own.",
        )
    ((kind, paths),) = found.items()
    return SampleFiles(kind, tuple(sorted(paths, key=_natural)))


def _in_folder(folder: Path) -> dict[Kind, list[Path]]:
    """Return what a folder holds, pipes and dangling links included, so that whoever reads them complains."""
    if any(folder.glob("input_*.pb")):
        return {"data-set": [folder]}
    sets = [place for place in folder.glob("test_data_set_*") if not is_file(place)]
    if sets:  # the ONNX convention puts them beside a model and other files
        return {"data-set": sets}
    return _of_files([file for file in folder.iterdir() if not is_folder(file) and not file.name.startswith(".")])


def _of_files(files: list[Path]) -> dict[Kind, list[Path]]:
    found: dict[Kind, list[Path]] = {}
    for kind, suffixes in _KINDS.items():
        chosen = [file for file in files if file.suffix.lower() in suffixes]
        if chosen:
            found[kind] = chosen
    return found


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(path.name)]
