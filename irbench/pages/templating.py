"""HTML of pages: made of templates, with one style and one script, and a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from irbench.core.plain_text import unmarked
from irbench.render.html import sorting_script


def html_from(template: str, **values: Any) -> str:
    """Return the page that a template makes of these values, all of which are text, whatever they hold."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("irbench.pages", "templates"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_for_readers,
    )
    style, script = _template_text("page.css"), f"{sorting_script()}{_template_text('page.js')}"
    environment.globals.update(
        policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:",
        style=Markup(style),  # noqa: S704 - irbench's own file
        script=Markup(script),  # noqa: S704 - irbench's own file
    )
    return environment


def _for_readers(value: Any) -> Any:
    """Return texts without the marks of options, as the command line shows them; markup as it is."""
    return unmarked(value) if type(value) is str else value


def _template_text(name: str) -> str:
    return resources.files("irbench.pages").joinpath("templates", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return what a policy calls an inline style or script by, which is allowed as it is and nothing else."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
