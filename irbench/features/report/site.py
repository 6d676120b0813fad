"""A site of many runs, as values: its pages, their tables, and the names of its files."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from irbench.pages.values import PageCell, PageGrid

Kind: TypeAlias = Literal["inference", "generation", "training", "corun"]
"""What is measured: each has tables of its own, since its figures are not comparable with those of others."""
KINDS: tuple[Kind, ...] = get_args(Kind)
KIND_TITLES: Mapping[Kind, str] = {
    "inference": "Newest figures",
    "generation": "Generated texts",
    "training": "Training steps",
    "corun": "Inferences beside other programs",
}
INDEX = "index.html"
ROWS = "rows.csv"
_DIGEST_DIGITS = 12
_LONGEST_SLUG = 60
_PLAIN_SLUG = re.compile(r"[a-z0-9]([a-z0-9._-]{0,58}[a-z0-9])?", re.ASCII)
_LIKE_A_DIGEST = re.compile(rf".*-[0-9a-f]{{{_DIGEST_DIGITS}}}(-\d+)?", re.ASCII)


@dataclass(frozen=True)
class SitePage:
    """A page.

    Attributes:
        file: Its name.
        kind: What it is about: a model, a machine; empty for the index.
        facts: Names and values.
        summary: A sentence below the title.
        lists: Links to other pages, by what the list is called.
        left_out: Why runs are left out or used in part.
    """

    file: str
    title: str
    kind: str = ""
    summary: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    lists: tuple[tuple[str, tuple[PageCell, ...]], ...] = ()
    tables: tuple[PageGrid, ...] = ()
    left_out: tuple[str, ...] = ()


def kind_file(kind: Kind) -> str:
    """Return the name of the page with all figures of a kind; inferences are on the index."""
    return INDEX if kind == "inference" else f"{kind}.html"


def page_files(kind: str, names: Iterable[str]) -> Mapping[str, str]:
    """Return the name of a file for each name, which may hold anything: ``model-resnet50.html``.

    Names of lower-case letters, digits, points and hyphens stand for themselves; others are shortened to such, with a
    part of the SHA-256 of the name, so that a page keeps its address when others come. No two names share a file.
    """
    files: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(set(names), key=lambda name: (not _is_slug(name), name)):
        slug = again = name if _is_slug(name) else _slug(name)
        number = 1
        while again in taken:
            number += 1
            again = f"{slug}-{number}"
        taken.add(again)
        files[name] = f"{kind}-{again}.html"
    return files


def run_file(run_id: str) -> str:
    """Return the name of the page of a run."""
    return f"run-{run_id}.html"


def archive_file(run_id: str) -> str:
    """Return the name of the archive of a run."""
    return f"run-{run_id}.tar.gz"


def _is_slug(name: str) -> bool:
    return _PLAIN_SLUG.fullmatch(name) is not None and _LIKE_A_DIGEST.fullmatch(name) is None


def _slug(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")[:_LONGEST_SLUG].strip("-")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
    return f"{words}-{digest}" if words else digest
