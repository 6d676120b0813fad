"""What is said of a bundle that is used or made, in words."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import Any

from irbench.errors import one_line
from irbench.measure.clock import utc_now
from irbench.notices import ExportNotice, ExportNoticeCode, Facts
from irbench.quantities import age, error_size, plural
from irbench.spec import RANDOM_DRAWS, Bundle

_WARNINGS: frozenset[ExportNoticeCode] = frozenset(
    {"bundle-outdated", "not-exportable", "origin-unknown", "source-missing"}
)
_SHOWN = 3


def export_notice_text(notice: ExportNotice, now: datetime | None = None) -> str:
    """Return a notice in words; one that speaks against the figures begins with ``warning:``.

    Args:
        notice: What is said.
        now: What ages are counted from, in UTC; the present where it is ``None``.
    """
    words = EXPORT_NOTICES[notice.code](notice.facts, now or utc_now())
    return f"warning: {words}" if notice.code in _WARNINGS else words


def export_problems(bundle: Bundle) -> tuple[str, ...]:
    """Return what is unusual in a model that was exported all the same, as sentences without a full stop."""
    draws, layers = bundle.details.get(RANDOM_DRAWS), bundle.details.get("activation_problems")
    drawn = f"it draws random numbers ({draws}), so that its outputs cannot be compared" if draws else ""
    trained = bundle.details.get("training_layers")
    in_training = f"layers called with training=True ({trained}) run in inference mode anyway, as in model.predict"
    problems = (drawn, in_training if trained else "", str(layers or ""))
    return tuple(one_line(problem) for problem in problems if problem)


def agreement(bundle: Bundle) -> str:
    """Return how well an exported graph agrees with the original, in a few words."""
    error = bundle.details.get("max_rel_error")
    if RANDOM_DRAWS in bundle.details:
        return "draws random numbers: only shapes compared"
    return f"agrees with the original to {error_size(float(error or 0))}"


def _used(facts: Facts, now: datetime) -> str:
    return f"using {facts['name']}, exported {_when(facts, now)}{_from(facts)}{_with_options(facts)}"


def _source_changed(facts: Facts, now: datetime) -> str:
    return f"{_files(facts)} changed since {facts['name']} was exported {_when(facts, now)}: {_again(facts)}"


def _tools_changed(facts: Facts, now: datetime) -> str:
    versions = [f"{name} is {version or 'missing'}" for name, version in facts["tools"].items()]
    what = " and ".join(versions) or "irbench was changed"
    return f"{facts['name']} was exported {_when(facts, now)} with other tools ({what}): {_again(facts)}"


def _options_changed(facts: Facts, now: datetime) -> str:
    modules = " ".join(f"--import {module}" for module in facts["imports"])
    return f"{facts['name']} was exported {_when(facts, now)} with other options (now {modules}): exporting again"


def _source_missing(facts: Facts, now: datetime) -> str:
    return (
        f"{facts['name']} was exported {_when(facts, now)} from {facts['location']}, which cannot be found any more:"
        " whether the model has changed since is unknown"
    )


def _not_exportable(facts: Facts, now: datetime) -> str:
    missing = " and ".join(name for name, version in facts["tools"].items() if version is None)
    return (
        f"{facts['name']} was exported {_when(facts, now)} with other tools, and is used as it is: without {missing} it"
        " cannot be exported again"
    )


def _origin_unknown(facts: Facts, now: datetime) -> str:
    what = f"{facts['name']} was exported {_when(facts, now)} by an earlier irbench, which did not record its source"
    if facts["again"]:
        return f"{what}: exporting again"
    return f"{what}; whether the model has changed since is unknown"


def _outdated(facts: Facts, now: datetime) -> str:
    place = "" if facts["in_cache"] else f" -o {quote(facts['folder'])}"
    return (
        f"{_files(facts)} changed since {facts['folder']} was exported {_when(facts, now)}; to measure the present"
        f" model: irbench export {quote(facts['source'])}{_options(facts)}{place}"
    )


def _exported_often(facts: Facts, _: datetime) -> str:
    first, *others = facts["names"]
    also = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
    return f"{facts['source']} was exported as {first} and {also}: {first}, exported last, is used"


def _name_taken(facts: Facts, _: datetime) -> str:
    return (
        f"the name {facts['wanted']} belongs to {_short(facts['owner'])}: this model is called {facts['name']}"
        " (irbench export --name chooses another)"
    )


def _path_preferred(facts: Facts, _: datetime) -> str:
    return (
        f"{facts['path']} is used; the bundle {facts['name']} was exported from {facts['location']}"
        f" (to use it: irbench run {quote(facts['folder'])})"
    )


EXPORT_NOTICES: Mapping[ExportNoticeCode, Callable[[Facts, datetime], str]] = {
    "bundle-outdated": _outdated,
    "bundle-used": _used,
    "exported-often": _exported_often,
    "name-taken": _name_taken,
    "not-exportable": _not_exportable,
    "options-changed": _options_changed,
    "origin-unknown": _origin_unknown,
    "path-preferred": _path_preferred,
    "source-changed": _source_changed,
    "source-missing": _source_missing,
    "tools-changed": _tools_changed,
}


def _when(facts: Facts, now: datetime) -> str:
    """Return ``2 h ago (2026-01-31 14:05 UTC)``."""
    moment = str(facts["created"])[: len("yyyy-mm-ddThh:mm")].replace("T", " ")
    ago = age(str(facts["created"]), now)
    return f"{'just now' if ago == 'now' else f'{ago} ago'} ({moment} UTC)"


def _from(facts: Facts) -> str:
    return "" if facts["location"] in ("", facts["name"]) else f" from {_short(facts['location'])}"


def _again(facts: Facts) -> str:
    return f"exporting again{_with_options(facts)}"


def _with_options(facts: Facts) -> str:
    options = _options(facts)
    return f" with{options}" if options else ""


def _options(facts: Facts) -> str:
    """Return the options of an export as they are typed, each after a blank; those that nobody chose are left out."""
    words: list[tuple[str, Any]] = []
    for name, value in facts.get("options", {}).items():
        if name == "imports":
            words += [("import", module) for module in value]
        elif name == "shape":
            words += [("shape", f"{key}={'x'.join(map(str, sizes))}") for key, sizes in value.items()]
        else:
            words.append((name, value))
    return "".join(f" --{name} {quote(str(value))}" for name, value in words)


def _files(facts: Facts) -> str:
    names = [_short(name) for name in facts["files"]]
    more = f" and {plural(len(names) - _SHOWN, 'more file')}" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _short(path: str) -> str:
    """Return a path as it is typed from the current folder, where it is below that."""
    here = f"{Path.cwd()}{os.sep}"
    return path.removeprefix(here)
