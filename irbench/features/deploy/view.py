"""What was written, in words."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from irbench.features.deploy.report import Deployment
from irbench.render.views import CodeBlock, Document


def deployment_view(deployment: Deployment) -> Document:
    """Return what was written where, and the command that checks it."""
    return Document(tuple(_parts(deployment)))


def _parts(deployment: Deployment) -> Iterator[str | CodeBlock]:
    folder = str(deployment.folder)
    yield f"{deployment.row} of {deployment.model}, run {deployment.run}: written to {folder}"
    if deployment.choice == "fastest":
        yield "No winner is decided in this run; this row looks fastest."
    if not deployment.checked_calls:
        yield "check.py compares no outputs: no reference could compute the expected ones."
    yield "Check it:"
    yield CodeBlock(f"python {quote(f'{folder}/check.py')}", "sh")
