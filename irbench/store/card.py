"""The card of a bundle: one JSON file that says what the files beside it are."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import msgspec

from irbench.errors import IrbenchError
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec
from irbench.system import host
from irbench.system.document_damage import damage_text
from irbench.system.file_access import read_regular, write_atomically
from irbench.system.file_states import FileState, is_file
from irbench.system.installation import upgrade_hint
from irbench.system.prepared_types import prepared

if TYPE_CHECKING:
    from irbench.spi import Array

CARD = "card.json"
# 1: every output of a reference has the batch as its first axis, and no input is a mask
# 2: ``batch_axes`` of a bundle, and ``is_mask`` of an input: an irbench before would draw other inputs than those
#    that the reference was computed for
# 3: masks with a last axis of one element have zeros too
# 4: ``marks_padding`` of an input; earlier bundles have none, so that theirs are drawn as their reference was
_SCHEMA_VERSION = 4
MOST_BYTES = 1 << 24
_DTYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|bfloat16")


@dataclass(frozen=True)
class _CardVersion:
    """What is read of a card first: of a later one, the rest may have other fields."""

    schema_version: int


@dataclass(frozen=True)
class Origin:
    """What a bundle was made from, so that it can be made again, and that it is known when it must be.

    Attributes:
        source: The model, as the user named it.
        folder: The folder in which it was named: relative paths and modules are searched there.
        location: Where the model is, whatever it was called: a path, ``path:function``, or the name of a zoo model.
        files: Every file that was read to make the model, by absolute path: its own, modules that were imported, data.
        tools: Versions of the distributions that decide what an export makes; ``None`` for one that was missing.
        folders: Folders whose files all count, also new ones.
        listings: Folders that were listed, each with a digest of the names in it; empty where they are unknown.
        modules: Top-level modules that were imported, each with the file that it was found in.
        packages: Versions of the distributions in site-packages that modules were imported from.
        absent: Files and folders that were looked for and not there; one that appears is a change.
    """

    source: str
    folder: str
    location: str
    exporter: str
    options: Mapping[str, Any]
    files: Mapping[str, FileState]
    tools: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    folders: tuple[str, ...] = ()
    listings: Mapping[str, str] = field(default_factory=dict[str, str])
    modules: Mapping[str, str] = field(default_factory=dict[str, str])
    packages: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Card:
    """What ``card.json`` says.

    Attributes:
        key: Digest of what is known before an export and decides what it makes: the model's location, the options and
            the tools. With equal keys and unchanged files of ``origin`` no second export is needed.
        origin: What it was made from; ``None`` in a bundle of an earlier irbench.
    """

    bundle: Bundle
    key: str
    created: str
    checksums: dict[str, str]
    origin: Origin | None = None
    schema_version: int = _SCHEMA_VERSION


def load(directory: Path) -> Bundle:
    """Return the bundle in ``directory``, every path absolute."""
    return load_card(directory).bundle


def load_card(directory: Path) -> Card:
    """Return the card in ``directory``, every path absolute; raises as :func:`load` does."""
    path = directory / CARD
    remedy = f"Export it again: irbench export MODEL --force. Or delete {directory}."
    try:
        if not is_file(path):
            raise IrbenchError(f"{directory} is not a bundle: it contains no {CARD}.", hint="irbench export MODEL")
        content = read_regular(path, MOST_BYTES)
        if msgspec.json.decode(content, type=prepared(_CardVersion)).schema_version > _SCHEMA_VERSION:
            raise IrbenchError(
                f"{path} was written by a newer version of irbench.", hint=f"Export it again. Or: {upgrade_hint()}"
            )
        card = msgspec.json.decode(content, type=prepared(Card), dec_hook=_decode)
        _require_sense(card.bundle)
        if card.schema_version == 2 and any(map(_had_no_zeros, card.bundle.inputs)):
            raise IrbenchError(f"{path} was written when masks were generated in another way.", hint=remedy)
    except OSError as error:
        raise IrbenchError(f"{path} cannot be read: {error.strerror or error}.", hint=remedy) from error
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise IrbenchError(f"{path} is damaged: {damage_text(error)}.", hint=remedy) from error
    return replace(card, bundle=with_absolute_paths(card.bundle, directory.absolute()))


def _require_sense(bundle: Bundle) -> None:
    """Raise ValueError where a bundle contradicts itself."""
    logical = [spec.tensor for spec in bundle.inputs]
    for spec in (*logical, *(tensor for artifact in bundle.artifacts for tensor in artifact.inputs)):
        _require_possible(spec)
    for artifact in bundle.artifacts:
        if len(artifact.inputs) != len(logical):
            raise ValueError(f"{artifact.label} takes {len(artifact.inputs)} inputs, the model has {len(logical)}")
        if bundle.batch_axes and len(bundle.batch_axes) != len(artifact.outputs):
            raise ValueError(f"{artifact.label} has {len(artifact.outputs)} outputs, and {len(bundle.batch_axes)} axes")
    if any(axis is not None and axis < 0 for axis in bundle.batch_axes):
        raise ValueError("an axis of an output is negative")
    for name, size in bundle.defaults.items():
        if size < 1:
            raise ValueError(f"the size of {name} must be at least 1, not {size}")


def _had_no_zeros(spec: InputSpec) -> bool:
    """Whether an input is a mask that format 2 generated as all ones; the reference was computed for that."""
    return spec.is_mask and len(spec.tensor.shape) > 2 and spec.tensor.shape[-1] == 1


def _require_possible(spec: TensorSpec) -> None:
    if not _DTYPE.fullmatch(spec.dtype):
        raise ValueError(f"'{spec.dtype}' is not a valid type of an input")
    for size in spec.shape:
        if isinstance(size, int) and size < 1:
            raise ValueError(f"the sizes of {spec.name} must be at least 1, not {size}")
    if spec.permutation is not None and sorted(spec.permutation) != list(range(len(spec.shape))):
        raise ValueError(f"{spec.permutation} is not an order of the {len(spec.shape)} axes of {spec.name}")


def write_card(card: Card, directory: Path) -> None:
    """Write ``card`` into ``directory``; its bundle's paths are relative."""
    document = msgspec.json.format(msgspec.json.encode(card, enc_hook=str), indent=2) + b"\n"
    if len(document) > MOST_BYTES:
        files = 0 if card.origin is None else len(card.origin.files)
        raise IrbenchError(
            f"The metadata of {card.bundle.name} would take {len(document) / 1e6:.1f} MB, and at most"
            f" {MOST_BYTES / 1e6:.1f} MB can be read: its export read {files:,} files.",
            hint="Have the code of the model read fewer files, for example one archive instead of a folder of many.",
        )
    write_atomically(directory / CARD, document)


def reference_outputs(bundle: Bundle) -> tuple[Array, ...] | None:
    """Return expected outputs of the first :data:`irbench.core.feeds.POOL` samples, or ``None`` without a reference.

    They hold for the sizes in ``bundle.defaults``; with ``bundle.batch_axes``, :func:`irbench.core.feeds.repeat_pool`
    makes any batch of them.
    """
    if bundle.reference is None:
        return None
    import numpy as np

    try:
        _refuse_bombs(bundle.reference)
        with np.load(bundle.reference, allow_pickle=False) as stored:
            return tuple(stored[f"arr_{position}"] for position in range(len(stored.files)))
    except Exception as error:
        raise IrbenchError(
            f"The reference outputs {bundle.reference} cannot be read: {error}",
            hint=f"Export the model again: irbench export {quote(bundle.source or bundle.name)} --force",
        ) from error


def _refuse_bombs(path: Path) -> None:
    """Raise where an archive would unpack to more than there is memory for."""
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > host.available_memory_bytes():
        raise ValueError(f"they would take {unpacked / 1e9:.1f} GB of memory")


def with_absolute_paths(bundle: Bundle, directory: Path) -> Bundle:
    """Return ``bundle`` with its paths, which are relative to ``directory``, made absolute."""

    def absolute(artifact: Artifact) -> Artifact:
        return replace(artifact, path=_inside(directory, artifact.path))

    return replace(
        bundle,
        artifacts=tuple(map(absolute, bundle.artifacts)),
        reference=None if bundle.reference is None else _inside(directory, bundle.reference),
    )


def _inside(directory: Path, path: Path) -> Path:
    if path.is_absolute() or ".." in path.parts:
        raise IrbenchError(
            f"The metadata in {directory} refers to a file outside its folder: {path}.", hint="Do not use it."
        )
    return directory / path


def _decode(kind: type[Any], value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise TypeError(f"{value!r} is not a {kind.__name__}")
