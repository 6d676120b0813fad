"""How large the house is: ``python -m benchmarks.house``, which prints a table and judges nothing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PACKAGES = ("irbench", "backends", "model_zoo")
_PLUMBING = (
    "irbench/options",
    "irbench/options/export.py",
    "irbench/cli/keyword_files.py",
    "irbench/features/plan/document.py",
    "irbench/features/plan/writing.py",
    "irbench/requests/run_requests.py",
    "irbench/runs/repetition.py",
    "irbench/runner/request.py",
)
"""Where options are declared, read, written, stored and turned into a request."""

_OF_FEATURES = ("options.py", "keywords.py")
_GENERATED = ("keywords.py", "run_row.py")
_MANY_FILES = 25


@dataclass(frozen=True)
class Module:
    """A module of the package.

    Attributes:
        path: Within the repository.
        text: Of its file.
        tree: What it parses to.
    """

    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n")

    @property
    def name(self) -> str:
        """What an import calls it; without the folder that a distribution lies in."""
        return ".".join(part for part in self.path.with_suffix("").parts if part not in _PACKAGES[1:])


def modules(packages: Iterable[str] = _PACKAGES) -> Iterator[Module]:
    """Yield every module below some folders."""
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text()
            yield Module(path.relative_to(ROOT), text, ast.parse(text))


def declared_fields(found: Iterable[Module]) -> list[tuple[str, str]]:
    """Return the class and the name of every annotated field of a class."""
    classes = (node for module in found for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))
    return [
        (each.name, item.target.id)
        for each in classes
        for item in each.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]


def vocabularies(found: Iterable[Module]) -> tuple[int, int]:
    """Return how many ``Literal`` types of several words modules define, and how many words these have."""
    texts = (
        node.value for module in found for node in module.tree.body if isinstance(node, ast.Assign | ast.AnnAssign)
    )
    literals = [len(node.slice.elts) for node in texts if _is_vocabulary(node)]  # type: ignore[union-attr]
    return len(literals), sum(literals)


def _is_vocabulary(node: ast.expr | None) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == "Literal"
        and isinstance(node.slice, ast.Tuple)
    )


def small_modules(found: Iterable[Module]) -> list[Path]:
    """Return the modules below 100 lines that a single other one imports."""
    known = list(found)
    importers = Counter(name for module in known for name in _imported(module))
    return [
        module.path
        for module in known
        if module.lines < 100 and importers[module.name] == 1 and module.path.name != "__init__.py"
    ]


def _imported(module: Module) -> set[str]:
    nodes = [node for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {str(node.module) for node in nodes} | {
        f"{node.module}.{item.name}" for node in nodes for item in node.names
    }


def figures() -> dict[str, str]:
    """Return what is counted, by what it is called."""
    found = list(modules())
    fields = declared_fields(found)
    words, codes = vocabularies(found)
    plumbing = [
        module for module in found if str(module.path).startswith(_PLUMBING) or module.path.name in _OF_FEATURES
    ]
    generated = sum(module.lines for module in plumbing if module.path.name in _GENERATED)
    folders = Counter(module.path.parent for module in found)
    names = Counter(module.path.name for module in found if module.path.name != "__init__.py")
    classes = Counter(node.name for module in found for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))
    tests = list(modules(("tests", "benchmarks")))
    return {
        "modules": f"{len(found):,}",
        "lines": f"{sum(module.lines for module in found):,}",
        "lines of tests and benchmarks": f"{sum(module.lines for module in tests):,}",
        "fields of classes": f"{len(fields):,} in {len({owner for owner, _ in fields}):,} classes",
        "classes with a field `batch`": str(sum(name == "batch" for _, name in fields)),
        "vocabularies": f"{words} with {codes} words",
        "lines about options": f"{sum(module.lines for module in plumbing) - generated:,}, and {generated:,} generated",
        "modules below 100 lines with one importer": str(len(small_modules(found))),
        f"folders with more than {_MANY_FILES} files": ", ".join(
            f"{folder} {count}" for folder, count in folders.most_common() if count > _MANY_FILES
        ),
        "modules at the root of the package": str(folders[Path("irbench")]),
        "file names that stand twice or more": str(sum(count > 1 for count in names.values())),
        "class names that stand twice or more": str(sum(count > 1 for count in classes.values())),
    }


if __name__ == "__main__":
    for what, value in figures().items():
        print(f"{what:45}{value}")  # noqa: T201 - a table for a terminal
