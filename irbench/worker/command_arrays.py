"""Inputs and outputs of a user's command, in files of NumPy by the names of tensors."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from irbench.errors import IrbenchError
from irbench.spec import Artifact
from irbench.spi import Array, Feed, Outputs


def write_arrays(path: Path, artifact: Artifact, feed: Feed) -> None:
    """Write inputs by name, whatever they are called, without pickles and without dtypes of extensions.

    Args:
        path: The file, which ends in ``.npz``.
        artifact: Says what the inputs are called.
        feed: Their values.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for spec, array in zip(artifact.inputs, feed, strict=True):
            with archive.open(f"{spec.name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, _storable(array), allow_pickle=False)


def _storable(array: Array) -> Array:
    if array.dtype.hasobject:
        return array.astype(str)
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" else array


def read_arrays(path: Path, artifact: Artifact) -> Outputs:
    """Return outputs in the order of the artifact's, from a file that a command wrote.

    Raises:
        IrbenchError: One is missing, or the file cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = [spec.name for spec in artifact.outputs]
            missing = [name for name in names if name not in archive.files]
            if missing:
                raise IrbenchError(
                    f"It wrote no output called {missing[0]!r}.", hint=f"It wrote: {', '.join(archive.files)}."
                )
            return [archive[name] for name in names]
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise IrbenchError(
            f"Its outputs cannot be read: {error}.", hint="Write them with numpy.savez, by the names of the outputs."
        ) from error
