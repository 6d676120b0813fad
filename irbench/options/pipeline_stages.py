"""Stages of the user's own code: a mapping in order, kept in a file for the processes that run it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from irbench.options.pickled_functions import file_of, keep

Stages: TypeAlias = Mapping[str, str | Callable[..., Any]]
"""By name, in order: a function, ``module:function``, or the name of a backend, whose compiled model the stage is."""

SUFFIX = ".json"
MOST_STAGES = 20
_LONGEST_NAME = 40
HOW_THEY_ARE_WRITTEN = (
    'Stages are a mapping from names to functions in order: {"decode": decode, "model": "ort", "best": best}; a text is'
    " a backend or module:function."
)


def require_stages(stages: Mapping[Any, Any], owner: str) -> None:
    """Refuse a mapping that is no pipeline; nothing is looked up.

    Args:
        stages: What was given.
        owner: What it is called, for the message.

    Raises:
        ValueError: It is empty, too long, or has a stage that cannot be called or a name that is none.
    """
    if not stages:
        raise ValueError(f"{owner} has no stages")
    if len(stages) > MOST_STAGES:
        raise ValueError(f"{owner} has {len(stages)} stages, and {MOST_STAGES} are the most")
    for name, stage in stages.items():
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
            raise ValueError(f"{name!r} is not a valid name of a stage: 1 to {_LONGEST_NAME} characters of text")
        if isinstance(stage, str) and not stage.strip():
            raise ValueError(f"the stage {name} of {owner} is an empty text")
        can_run = callable(stage) or isinstance(stage, str)
        if not can_run:
            raise ValueError(f"the stage {name} of {owner} is of type {type(stage).__name__}, which cannot be called")


def is_function(text: str, backends: Collection[str]) -> bool:
    """Whether the text of a stage is ``module:function``, and no backend with its device: ``openvino:gpu``."""
    name, colon, _ = text.partition(":")
    return bool(colon) and name not in backends


def kept_stages(stages: Mapping[str, str]) -> str:
    """Keep stages in a file, and return where a worker finds it: ``path/to/content.json:stages``."""
    return f"{keep(json.dumps(stages, indent=1).encode(), SUFFIX)}:stages"


def are_kept(target: str) -> bool:
    """Whether stages were kept in a file, by where a worker finds it."""
    return file_of(target).suffix == SUFFIX


def read_stages(target: str) -> dict[str, str]:
    """Return the stages that were kept; functions as ``module:function``.

    Raises:
        ValueError: The file is gone, or is not what was kept.
    """
    file = file_of(target)
    try:
        stages = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ValueError(f"the stages in {file} cannot be read") from error
    if not isinstance(stages, dict) or not all(isinstance(stage, str) for stage in stages.values()):
        raise ValueError(f"{file} holds no stages")
    require_stages(stages, str(file))
    return stages
