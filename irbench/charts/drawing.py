"""Drawing charts: static SVG for pages, and files for documents."""

from __future__ import annotations

import html
import json
import re
from importlib.util import find_spec
from typing import Any

from irbench.errors import require_libraries
from irbench.options.values import ChartForm

_LIBRARIES = {"altair": "altair", "vl_convert": "vl-convert-python"}
SEPARATOR = "\x1f"
"""Between the key of a row and what a mark says, in the description of a mark."""
_LABEL = re.compile(r'aria-label="([^"]*?)(?:\x1f|&#x1[fF];|&#31;)([^"]*)"')
_INK = "#1b1f24"


def can_draw() -> bool:
    """Whether the libraries that draw charts are installed."""
    return all(find_spec(module) is not None for module in _LIBRARIES)


def require_drawing() -> None:
    """Refuse where the libraries that draw charts are missing.

    Raises:
        IrbenchError: One of them is not installed.
    """
    message = f"Charts need {' and '.join(_LIBRARIES.values())}, which are not installed."
    require_libraries(_LIBRARIES, message, "'irbench[report]'")


def page_svg(spec: dict[str, Any], prefix: str, rows: str = "") -> str:
    """Return a chart as SVG for a page: its identifiers begin with ``prefix``, marks have the key of their row.

    Marks and axes keep the labels that screen readers read.

    Args:
        spec: Of Vega-Lite.
        prefix: Unique in the page.
        rows: What the keys of rows begin with in the page.
    """
    svg = _convert("svg", spec).decode()
    svg = re.sub(r'\b(id="|url\(#|href="#)', lambda match: f"{match[1]}{prefix}-", svg)
    return _LABEL.sub(lambda match: _marked(match, rows), svg)


def drawn(spec: dict[str, Any], form: ChartForm) -> bytes:
    """Return a chart as a file: its Vega-Lite specification, SVG, PNG with two pixels a unit, or PDF.

    Raises:
        IrbenchError: The libraries that draw are not installed.
    """
    require_drawing()
    whole = json.dumps(spec).replace("currentColor", _INK).replace('"transparent"', '"white"')
    standing = _unmarked(json.loads(whole))
    return json.dumps(standing, indent=2).encode() if form == "vega" else _convert(form, standing)


def _convert(form: ChartForm, spec: dict[str, Any]) -> bytes:
    import vl_convert

    if form == "svg":
        return str(vl_convert.vegalite_to_svg(spec)).encode()
    if form == "png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=2))
    return bytes(vl_convert.vegalite_to_pdf(spec))


def _marked(match: re.Match[str], rows: str) -> str:
    key, text = match.groups()
    return f'data-row="{html.escape(rows)}{key}" aria-label="{text}"'


def _unmarked(value: Any) -> Any:
    """Return a specification whose descriptions are for people: without the keys of rows."""
    if isinstance(value, dict):
        return {key: _unmarked(part) for key, part in value.items()}
    if isinstance(value, list):
        return list(map(_unmarked, value))
    return value.partition(SEPARATOR)[2] if isinstance(value, str) and SEPARATOR in value else value
