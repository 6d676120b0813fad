"""A stored run or sweep as a plan that measures the same again, here or elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from irbench.api.arguments import results_folder
from irbench.features.plan import reading
from irbench.features.plan.expansion import AXES, COMPARABLE, DEFAULTS, USUAL_ROWS
from irbench.options.run import RUN, RunOptions, plan_key
from irbench.options.values import RunName, run_name
from irbench.runs.repetition import stored_options
from irbench.store.folders import results_option
from irbench.store.listing import find_run, sweep_called
from irbench.store.runs import load_document

_BLANKS = str.maketrans("\n\t", "  ")
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9._+-]+")


def plan_from(run: RunName = "latest", *, results: str | PathLike[str] | None = None) -> dict[str, Any]:
    """Return a stored run as a plan, which :func:`irbench.sweep` takes and :func:`plan_text` writes as TOML.

    Defaults that depend on the machine, such as the number of threads, are those that the run had. Of a sweep it is the
    plan that it was begun with.

    Args:
        run: As :func:`irbench.load` takes it, or the name of a sweep.
        results: The folder where runs are kept; ``None`` for the usual place.

    Raises:
        IrbenchError: There is no such run, or no plan repeats it: one of another command than ``irbench run``, a part
            of a search, or one whose inputs were arrays in memory.
    """
    root, name = results_folder(results), run_name(run)
    if (sweep := sweep_called(root, name)) is not None:
        return {**sweep.header.plan, "name": name}
    folder = find_run(root, name)
    document = load_document(folder)
    options = stored_options(document.plan, results_option(root))
    return plan_document(options, options.name or f"{document.run_id}-again")  # the id alone names a run, and no sweep


def plan_document(options: RunOptions, name: str) -> dict[str, Any]:
    """Return options as a plan: what has several values is its matrix, and the rest its defaults."""
    axes = {key: values for key, values in _axes(options).items() if values and list(values) != [DEFAULTS.get(key)]}
    several = {key: list(values) for key, values in axes.items() if len(values) > 1}
    single = {key: values[0] for key, values in axes.items() if len(values) == 1}
    document: dict[str, Any] = {"name": _NOT_OF_A_NAME.sub("-", name).strip("-.+_")[:80] or "run"}
    others = [key for key in several if key in COMPARABLE and key not in USUAL_ROWS]
    if others:
        document["compare"] = [*USUAL_ROWS, *others]
    document["defaults"] = {**single, **_others(options)}
    return {**document, "matrix": [several]} if several else document


def plan_text(document: Mapping[str, Any]) -> str:
    """Return a plan as TOML; what a terminal would not show is escaped, as TOML's strings allow."""
    import tomli_w

    return re.sub(r"[^\n -~]", _escaped, tomli_w.dumps(document))


def shown_plan(path: Path) -> str:
    """Return the text of a plan's file, or, where characters in it do not print, its values written again."""
    text = reading.plan_text(path).replace("\r\n", "\n")
    return text if text.translate(_BLANKS).isprintable() else plan_text(reading.plan_values(text, path))


def _escaped(match: re.Match[str]) -> str:
    return match[0] if match[0].isprintable() else f"\\U{ord(match[0]):08X}"


def _axes(options: RunOptions) -> dict[str, tuple[Any, ...]]:
    values: dict[str, tuple[Any, ...]] = {"models": options.models}
    for name, declared in RUN.options.items():
        value = getattr(options, name)
        if declared.plan == "list" and value not in (None, {}):
            written = declared.kind.written(value)
            values[plan_key(name)] = tuple(written) if isinstance(written, list) else (written,)
    return {key: values[key] for key in AXES if key in values}


def _others(options: RunOptions) -> dict[str, Any]:
    values = {name: getattr(options, name) for name, option in RUN.options.items() if plan_key(name) not in AXES}
    return {
        plan_key(name): RUN.options[name].kind.written(value)
        for name, value in values.items()
        if value and RUN.options[name].plan != "none"
    }
