"""Samples from files and from arrays in memory, each matched with the inputs of a model."""

from __future__ import annotations

import lzma
import math
import re
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

import numpy as np

from irbench.data.images import images_by_class, is_image_input, read_image, require_images
from irbench.data.model_inputs import ModelInput, by_alias, convert, fit, unknown_input
from irbench.data.samples import Sample
from irbench.errors import IrbenchError, first_line
from irbench.onnx.reading.tensor_file import tensor_of_file
from irbench.spi import Array
from irbench.spi.training import IMAGE_SUFFIXES
from irbench.system.file_access import open_regular
from irbench.system.file_states import exists, is_file, is_folder, require_utf8

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_REMEDY = "Write it again with numpy.save or numpy.savez; arrays of Python objects are not read."
_DAMAGED = (
    OSError,
    ValueError,
    EOFError,
    TypeError,  # a header that is not a mapping
    SyntaxError,  # a header that is not a literal
    tokenize.TokenError,
    RuntimeError,  # encrypted, or too deep
    NotImplementedError,  # an unknown compression
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What reading a file raises that is not as NumPy wrote it."""


def read_npy(file: Path, most_bytes: int) -> Array:
    """Return the array of a ``.npy`` file."""
    try:
        with open_regular(file) as stream:
            return _read(stream, file, most_bytes)
    except _DAMAGED as error:
        raise _unreadable(file, error) from error


def read_npz(file: Path, most_bytes: int) -> Mapping[str, Array]:
    """Return the arrays of a ``.npz`` file by name."""
    arrays: dict[str, Array] = {}
    try:
        with open_regular(file) as stored, zipfile.ZipFile(stored) as archive:
            for member in _members(archive, file):
                with archive.open(member) as stream:
                    array = _read(stream, file, most_bytes)
                most_bytes -= array.nbytes
                arrays[member.removesuffix(".npy")] = array
    except _DAMAGED as error:
        raise _unreadable(file, error) from error
    return arrays


def _members(archive: zipfile.ZipFile, file: Path) -> list[str]:
    members = archive.namelist()
    if not members:
        raise IrbenchError(f"{file} contains no array.", hint=_REMEDY)
    return members


def _read(stream: IO[bytes], file: Path, most_bytes: int) -> Array:
    shape, fortran_order, dtype = _header(stream, file, most_bytes)
    count = math.prod(shape)
    content = stream.read(count * dtype.itemsize)
    if len(content) < count * dtype.itemsize:
        raise ValueError("it ends too early")
    array = np.frombuffer(content, dtype, count).reshape(shape[::-1] if fortran_order else shape)
    return array.transpose() if fortran_order else array


def _header(stream: IO[bytes], file: Path, most_bytes: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and dtype of an array, which say how large it is, whatever the file's size."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"it has version {version[0]}.{version[1]} of the format")
    shape, fortran_order, dtype = _HEADERS[version](stream)
    if dtype.hasobject:
        raise ValueError("it contains Python objects")
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"it claims the shape {shape}")
    size = math.prod(shape) * dtype.itemsize
    if size > most_bytes:
        raise IrbenchError(
            f"{file} needs {size / 1e9:.1f} GB, and {max(0, most_bytes) / 1e9:.1f} GB of memory are left for data.",
            hint="Give fewer samples.",
        )
    return shape, fortran_order, dtype


def _unreadable(file: Path, error: Exception) -> IrbenchError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
    return IrbenchError(f"{file} cannot be read: {reason}.", hint=_REMEDY)


Kind: TypeAlias = Literal["data-set", "archive", "array", "image"]

_KINDS: dict[Kind, tuple[str, ...]] = {"archive": (".npz",), "array": (".npy",), "image": IMAGE_SUFFIXES}
MOST_SAMPLES = 1000
"""Files that are read; every one is verified on every backend before anything is timed."""
_FORMS = (
    ".npz and .npy files, PNG and JPEG images, folders of images for each class, and test_data_set_* folders with "
    "input_0.pb and so on are read."
)
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class SampleFiles:
    """The samples of a folder, all of one kind, in the order of their names: 10 comes after 9.

    Attributes:
        kind: ``data-set`` for folders of the ONNX convention.
        paths: At least one file, or folder of a data set.
        labels: For images in a folder for each class, the number of each one's class; empty otherwise.
    """

    kind: Kind
    paths: tuple[Path, ...]
    labels: tuple[int, ...] = ()


def find_samples(path: Path) -> SampleFiles:
    """Return the samples at a path: a file, a data set, or a folder of either or of a folder of images for each class.

    Nothing is opened.
    """
    files = _found(path)
    if len(files.paths) > MOST_SAMPLES:
        raise IrbenchError(
            f"{path} contains {len(files.paths)} samples; at most {MOST_SAMPLES} can take turns.",
            hint="Put a selection of them into a folder.",
        )
    return files


def _found(path: Path) -> SampleFiles:
    require_utf8(path)
    if not exists(path):
        raise IrbenchError(f"There is no file or folder {path}.", hint="Check the path given with --data.")
    files = _in_folder(path) if is_folder(path) else _of_files([path])
    classes = images_by_class(path) if is_folder(path) and set(files) <= {"image"} else {}
    if not files and not classes:
        raise IrbenchError(f"{path} contains no samples.", hint=_FORMS)
    if files and len(classes) > 1:
        raise IrbenchError(
            f"{path} contains images and folders of images: {files['image'][0].name} and {next(iter(classes))}.",
            hint="Name a folder that contains either images or a folder of images for each class.",
        )
    if not files:
        return _of_classes(list(classes.values()))
    if len(files) > 1:
        raise IrbenchError(
            f"{path} contains samples of several kinds: {' and '.join(paths[0].name for paths in files.values())}.",
            hint="Put the samples of one kind into a folder of their own.",
        )
    ((kind, paths),) = files.items()
    return SampleFiles(kind, tuple(sorted(paths, key=_natural)))


def _of_classes(classes: Sequence[tuple[Path, ...]]) -> SampleFiles:
    """Return the images of classes, two of each in turn: the first and every other one are of all classes."""
    ordered = [sorted(files, key=_natural) for files in classes]
    turns = range(0, max(map(len, ordered)), 2)
    labelled = [
        (path, label) for turn in turns for label, files in enumerate(ordered) for path in files[turn : turn + 2]
    ]
    paths, labels = zip(*labelled, strict=True)
    return SampleFiles("image", paths, labels)


def require_headers(files: SampleFiles, most_bytes: int) -> None:
    """Refuse samples that no model could take, as far as their headers say; called in a worker.

    Args:
        files: What :func:`find_samples` returned.
        most_bytes: What an array may need.

    Raises:
        IrbenchError: One is not what its name says, or too large.
    """
    if files.kind == "image":
        require_images(files.paths, decoded=0)
    if files.kind not in ("array", "archive"):
        return
    for file in files.paths:
        try:
            with open_regular(file) as stored:
                if files.kind == "array":
                    _header(stored, file, most_bytes)
                    continue
                with zipfile.ZipFile(stored) as archive:
                    for member in _members(archive, file):
                        with archive.open(member) as stream:
                            _header(stream, file, most_bytes)
        except _DAMAGED as error:
            raise _unreadable(file, error) from error


def _in_folder(folder: Path) -> dict[Kind, list[Path]]:
    """Return what a folder holds, pipes and dangling links included, so that whoever reads them complains."""
    if any(folder.glob("input_*.pb")):
        return {"data-set": [folder]}
    sets = [place for place in folder.glob("test_data_set_*") if not is_file(place)]
    if sets:  # the ONNX convention puts them beside a model and other files
        return {"data-set": sets}
    return _of_files([file for file in folder.iterdir() if not is_folder(file) and not file.name.startswith(".")])


def _of_files(files: list[Path]) -> dict[Kind, list[Path]]:
    by_kind: dict[Kind, list[Path]] = {}
    for kind, suffixes in _KINDS.items():
        chosen = [file for file in files if file.suffix.lower() in suffixes]
        if chosen:
            by_kind[kind] = chosen
    return by_kind


def _natural(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(path.name)]


_Load: TypeAlias = Callable[[int], Mapping[str, Array]]
_NAMELESS = "arr_0"
"""How numpy.savez calls an array that was given no name."""


@dataclass(frozen=True)
class DataTarget:
    """The model that samples are for.

    Attributes:
        elsewhere: Names of inputs that get their values elsewhere: an array without a name is not for them.
        sizes: What is known of the dynamic dimensions; images are resized to them.
        most_bytes: What all samples together may need.
    """

    model: str
    inputs: tuple[ModelInput, ...]
    elsewhere: frozenset[str]
    sizes: Mapping[str, int]
    most_bytes: int


def read_files(path: Path, target: DataTarget) -> tuple[Sample, ...]:
    """Read the samples at a path; called in a worker, because the files may come from anywhere."""
    files = find_samples(path)
    left_bytes = target.most_bytes
    samples: list[Sample] = []
    for place, load in _loaders(files, target):
        sample = _matched(place, load(left_bytes), target)
        left_bytes -= sum(array.nbytes for array in sample.arrays.values())
        _require_room(left_bytes, place, target.most_bytes)
        samples.append(sample)
    _require_same_inputs(samples)
    if not files.labels:
        return tuple(samples)
    return tuple(replace(sample, label=label) for sample, label in zip(samples, files.labels, strict=True))


def match_arrays(mappings: Iterable[Mapping[str, Array]], target: DataTarget) -> tuple[Sample, ...]:
    """Return the samples of arrays in memory, one for each mapping from input names."""
    samples = tuple(_matched(f"sample {number}", named, target) for number, named in enumerate(mappings))
    if not samples or not all(sample.arrays for sample in samples):
        raise IrbenchError("The data contain no sample.", hint='Give arrays by input: data={"x": array}.')
    _require_same_inputs(samples)
    return samples


def _loaders(files: SampleFiles, target: DataTarget) -> Iterator[tuple[str, _Load]]:
    """Yield where each sample comes from, and what reads its arrays by input name, given how many bytes are left."""
    if files.kind == "array" and all(file.stem in by_alias(target.inputs) for file in files.paths):
        yield str(files.paths[0].parent), partial(_files_of_inputs, files.paths)
        return
    readers = {"data-set": _data_set, "archive": _archive, "array": _lone_array, "image": _image}
    for path in files.paths:
        yield str(path), partial(readers[files.kind], path, target)


def _files_of_inputs(paths: Sequence[Path], most_bytes: int) -> Mapping[str, Array]:
    """Return the arrays of files that are named like inputs, and are one sample together."""
    arrays: dict[str, Array] = {}
    for file in paths:
        arrays[file.stem] = read_npy(file, most_bytes)
        most_bytes -= arrays[file.stem].nbytes
    return arrays


def _lone_array(path: Path, target: DataTarget, most_bytes: int) -> Mapping[str, Array]:
    return {_only_input(path, target).name: read_npy(path, most_bytes)}


def _image(path: Path, target: DataTarget, _most_bytes: int) -> Mapping[str, Array]:
    model_input = _image_input(path, target)
    return {model_input.name: read_image(path, model_input, target.sizes)}


def _archive(path: Path, target: DataTarget, most_bytes: int) -> Mapping[str, Array]:
    arrays = read_npz(path, most_bytes)
    if tuple(arrays) == (_NAMELESS,) and _NAMELESS not in by_alias(target.inputs):
        return {_only_input(path, target).name: arrays[_NAMELESS]}
    return arrays


def _data_set(folder: Path, target: DataTarget, most_bytes: int) -> Mapping[str, Array]:
    """Return the inputs of a data set of the ONNX convention, which are matched by order."""
    numbers = {file: file.stem.removeprefix("input_") for file in folder.glob("input_*.pb")}
    files = sorted(
        (file for file, number in numbers.items() if number.isdecimal()), key=lambda file: int(numbers[file])
    )
    if len(files) != len(target.inputs):
        raise IrbenchError(
            f"{folder} contains {len(files)} inputs, and {target.model} has {len(target.inputs)}.",
            hint="A data set has input_0.pb, input_1.pb and so on, one for each input in the model's order.",
        )
    _require_room(most_bytes - sum(file.stat().st_size for file in files if is_file(file)), str(folder), most_bytes)
    return {model_input.name: tensor_of_file(file) for file, model_input in zip(files, target.inputs, strict=True)}


def _matched(place: str, named: Mapping[str, Array], target: DataTarget) -> Sample:
    inputs = by_alias(target.inputs)
    arrays: dict[str, Array] = {}
    for name, array in named.items():
        if name not in inputs:
            raise unknown_input(name, target.inputs, target.model, place)
        model_input = inputs[name]
        arrays[model_input.name] = fit(convert(array, model_input, place), model_input, place)
    return Sample(place, arrays)


def _only_input(path: Path, target: DataTarget) -> ModelInput:
    left = [model_input for model_input in target.inputs if model_input.name not in target.elsewhere]
    if len(left) != 1:
        raise IrbenchError(
            f"{path} does not say which input of {target.model} it is for.",
            hint="Write all inputs of a sample into one .npz file, or name .npy files like inputs: "
            f"{', '.join(model_input.name for model_input in target.inputs)}.",
        )
    return left[0]


def _image_input(path: Path, target: DataTarget) -> ModelInput:
    images = [model_input for model_input in target.inputs if is_image_input(model_input)]
    if len(images) != 1:
        raise IrbenchError(
            f"{path} is an image, and {target.model} has {len(images) or 'no'} inputs that take images with 1, 3 or 4 "
            "channels.",
            hint="Write the inputs as arrays, by name, into .npz files.",
        )
    return images[0]


def _require_same_inputs(samples: Sequence[Sample]) -> None:
    first = samples[0]
    for sample in samples[1:]:
        missing = sorted(first.arrays.keys() ^ sample.arrays.keys())
        if missing:
            has, lacks = (first, sample) if missing[0] in first.arrays else (sample, first)
            raise IrbenchError(
                f"{lacks.place} has no array for the input {missing[0]}, and {has.place} has one.",
                hint="All samples need the same inputs.",
            )


def _require_room(left_bytes: int, place: str, most_bytes: int) -> None:
    if left_bytes < 0:
        raise IrbenchError(
            f"The samples up to {place} need more than the {most_bytes / 1e9:.1f} GB of memory that are available for "
            "data.",
            hint="Give fewer samples.",
        )
