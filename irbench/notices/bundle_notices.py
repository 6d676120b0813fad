"""Which bundle is used or made, and why: said while a call goes on, and not stored with a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import ClassVar

import msgspec

from irbench.core.quantities import age, plural
from irbench.notices.base import Notice

_SHOWN = 3


class ExportNotice(Notice):
    """What is said of a bundle."""

    known: ClassVar[list[type[ExportNotice]]] = []
    is_warning: ClassVar[bool] = False

    def text(self, now: datetime) -> str:
        """Return it in words."""
        raise NotImplementedError


class BundleFacts(msgspec.Struct, frozen=True):
    """Of which time a bundle is, what it was made from and how, and which files changed since.

    Attributes:
        options: Names and values as they are typed, without those that nobody chose.
    """

    name: str
    created: str
    source: str
    location: str
    options: tuple[tuple[str, str], ...]
    files: tuple[str, ...] = ()

    def exported(self, now: datetime, name: str = "") -> str:
        """Return ``net was exported 2 h ago (2026-01-31 14:05 UTC)``."""
        return f"{name or self.name} was exported {self.when(now)}"

    def when(self, now: datetime) -> str:
        """Return ``2 h ago (2026-01-31 14:05 UTC)``."""
        moment = self.created[: len("yyyy-mm-ddThh:mm")].replace("T", " ")
        ago = age(self.created, now)
        return f"{'just now' if ago == 'now' else f'{ago} ago'} ({moment} UTC)"

    @property
    def again(self) -> str:
        """That it is exported again, and with which options."""
        return f"exporting again{self.with_options}"

    @property
    def with_options(self) -> str:
        """Its options after a word; empty without any."""
        return f" with{self.typed_options}" if self.options else ""

    @property
    def typed_options(self) -> str:
        """The options as they are typed, each after a blank."""
        return "".join(f" --{name} {quote(value)}" for name, value in self.options)


class OfBundle(ExportNotice):
    """What is said of a bundle that is there."""

    bundle: BundleFacts


class BundleUsed(OfBundle):
    code = "bundle-used"

    def text(self, now: datetime) -> str:
        origin = "" if self.bundle.location in ("", self.bundle.name) else f" from {_short(self.bundle.location)}"
        return f"using {self.bundle.name}, exported {self.bundle.when(now)}{origin}{self.bundle.with_options}"


class SourceChanged(OfBundle):
    code = "source-changed"

    def text(self, now: datetime) -> str:
        return f"{_files(self.bundle.files)} changed since {self.bundle.exported(now)}: {self.bundle.again}"


class ToolsChanged(OfBundle):
    code = "tools-changed"

    tools: Mapping[str, str | None]

    def text(self, now: datetime) -> str:
        versions = [f"{name} is {version or 'missing'}" for name, version in self.tools.items()]
        what = " and ".join(versions) or "irbench was changed"
        return f"{self.bundle.exported(now)} with other tools ({what}): {self.bundle.again}"


class OptionsChanged(OfBundle):
    code = "options-changed"

    imports: tuple[str, ...]

    def text(self, now: datetime) -> str:
        modules = " ".join(f"--import {module}" for module in self.imports)
        return f"{self.bundle.exported(now)} with other options (now {modules}): exporting again"


class SourceMissing(OfBundle):
    code = "source-missing"
    is_warning = True

    def text(self, now: datetime) -> str:
        return (
            f"{self.bundle.exported(now)} from {self.bundle.location}, which cannot be found any more: whether the"
            " model has changed since is unknown"
        )


class NotExportable(OfBundle):
    code = "not-exportable"
    is_warning = True

    tools: Mapping[str, str | None]

    def text(self, now: datetime) -> str:
        missing = " and ".join(name for name, version in self.tools.items() if version is None)
        return (
            f"{self.bundle.exported(now)} with other tools, and is used as it is: without {missing} it cannot be"
            " exported again"
        )


class OriginUnknown(OfBundle):
    code = "origin-unknown"
    is_warning = True

    exports_again: bool

    def text(self, now: datetime) -> str:
        what = f"{self.bundle.exported(now)} by an earlier irbench, which did not record its source"
        if self.exports_again:
            return f"{what}: exporting again"
        return f"{what}; whether the model has changed since is unknown"


class BundleOutdated(OfBundle):
    code = "bundle-outdated"
    is_warning = True

    folder: str
    in_cache: bool

    def text(self, now: datetime) -> str:
        place = "" if self.in_cache else f" -o {quote(self.folder)}"
        return (
            f"{_files(self.bundle.files)} changed since {self.bundle.exported(now, self.folder)}; to measure the"
            f" present model: irbench export {quote(self.bundle.source)}{self.bundle.typed_options}{place}"
        )


class PathPreferred(OfBundle):
    code = "path-preferred"

    path: str
    folder: str

    def text(self, now: datetime) -> str:
        return (
            f"{self.path} is used; the bundle {self.bundle.name} was exported from {self.bundle.location}"
            f" (to use it: irbench run {quote(self.folder)})"
        )


class ExportedOften(ExportNotice):
    code = "exported-often"

    source: str
    names: tuple[str, ...]

    def text(self, now: datetime) -> str:
        first, *others = self.names
        also = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
        return f"{self.source} was exported as {first} and {also}: {first}, exported last, is used"


class NameTaken(ExportNotice):
    code = "name-taken"

    name: str
    wanted: str
    owner: str

    def text(self, now: datetime) -> str:
        return (
            f"the name {self.wanted} belongs to {_short(self.owner)}: this model is called {self.name}"
            " (irbench export --name chooses another)"
        )


def _files(files: Iterable[str]) -> str:
    names = [_short(name) for name in files]
    more = f" and {plural(len(names) - _SHOWN, 'more file')}" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _short(path: str) -> str:
    """Return a path as it is typed from the current folder, where it is below that."""
    return path.removeprefix(f"{Path.cwd()}{os.sep}")
