"""Requests with every name resolved, made from the names of options and of what they are resolved to alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from irbench.runner.request import RunRequest

_RESOLVED = {item.name for item in fields(RunRequest)}


def run_request(bundles: Any = (), backends: Any = (), **changes: Any) -> RunRequest:
    """Return a request; ``batch=(1, 8)`` is an option, ``variants=("none",)`` is what one was resolved to."""
    return changed(RunRequest(tuple(bundles), tuple(backends)), changes)


def changed(request: RunRequest, changes: Mapping[str, Any]) -> RunRequest:
    """Return a request with other options, and with what others are resolved to."""
    resolved = {name: value for name, value in changes.items() if name in _RESOLVED}
    asked = {name: value for name, value in changes.items() if name not in _RESOLVED}
    if "threads" in changes:
        asked["threads"] = tuple("native" if count is None else count for count in changes["threads"])
    return replace(request, asked=replace(request.asked, **asked), **resolved)
