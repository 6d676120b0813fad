"""The page about backbones of keras-hub: how small their graphs become, what is fused, and how exact they stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.backbone_check import GraphError
from benchmarks.backbone_notes import WHAT_STAYS
from irbench.core.quantities import NOT_MEASURED, error_size
from irbench.render.table import Row, TableColumn, TextTable

LEVELS = ("basic", "extended", "all")
_SHOWN = "extended"
_PORTABLE = ("Attention", "LayerNormalization", "RMSNormalization", "GroupNormalization", "RotaryEmbedding", "Gelu")
_VENDOR = "com.microsoft."
_GOAL = 5
"""The part of the exported nodes, one in so many, that the optimised graph is to have at most."""


@dataclass(frozen=True)
class Backbone:
    """What became of one backbone.

    Attributes:
        name: Its name in the zoo, without what all have in common.
        operators: Of each level's graph, with their numbers; ``none`` for the exported graph.
        errors: Every graph on every backend.
        failure: Why there is nothing of that.
    """

    name: str
    operators: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    errors: tuple[GraphError, ...] = ()
    failure: str = ""

    @property
    def wrong(self) -> tuple[GraphError, ...]:
        """The graphs that answer wrongly or not at all where the same backend answers rightly as exported."""
        unreliable = {error.backend for error in self.errors if error.level == "none" and error.failure}
        return tuple(error for error in self.errors if error.failure and error.backend not in unreliable)

    @property
    def is_complete(self) -> bool:
        """Whether every graph was made and answers rightly."""
        return not self.failure and not self.wrong

    def nodes(self, level: str) -> int:
        """Return how many nodes a level's graph has, those within other nodes included."""
        return sum(self.operators[level].values())

    def largest_error(self, backend: str, *, optimized: bool) -> float | None:
        """Return the largest error on a backend, of the exported graph or of all others; ``None`` without any."""
        found = (error for error in self.errors if error.backend == backend and (error.level != "none") == optimized)
        return max((error.max_rel for error in found if error.max_rel is not None), default=None)


def as_table(backbones: Sequence[Backbone], backends: Sequence[str]) -> TextTable:
    """Return a row for each backbone."""
    columns = (
        *(TableColumn("backbone", words=True), TableColumn("export"), *map(TableColumn, LEVELS)),
        *(
            TableColumn(f"fused at {_SHOWN}", words=True, folds=True),
            TableColumn("Microsoft's at all", words=True, folds=True),
        ),
        *(TableColumn(f"{backend} max err") for backend in backends),
        *(TableColumn(f"{backend} as exported") for backend in backends),
    )
    return TextTable(columns, tuple(_row(backbone, backends) for backbone in backbones))


def _row(backbone: Backbone, backends: Sequence[str]) -> Row:
    if backbone.failure:
        return Row((backbone.name,), sentence=f"failed: {backbone.failure}")
    errors = [
        error_size(backbone.largest_error(backend, optimized=optimized))
        for optimized in (True, False)
        for backend in backends
    ]
    return Row(
        (
            backbone.name,
            *(str(backbone.nodes(level)) for level in ("none", *LEVELS)),
            _counted(backbone.operators[_SHOWN], _PORTABLE),
            _counted({name.removeprefix(_VENDOR): count for name, count in _vendors(backbone)}),
            *errors,
        )
    )


def _vendors(backbone: Backbone) -> Iterator[tuple[str, int]]:
    return ((name, count) for name, count in backbone.operators["all"].items() if name.startswith(_VENDOR))


def _counted(operators: Mapping[str, int], names: Sequence[str] | None = None) -> str:
    chosen = sorted(operators) if names is None else names
    return ", ".join(f"{operators[name]} {name}" for name in chosen if operators.get(name)) or NOT_MEASURED


_PAGE = """# Backbones that others wrote

Written by `make zoo-keras-hub ARGUMENTS='-o results/reference/backbones.md'`. Small backbones of the package keras-hub
with seeded random weights, exported from Keras and optimised at every level
([docs/optimizing.md](../../docs/optimizing.md)) for batch {batch} and {length} tokens. `irbench models --family
keras-hub` lists them. Versions: {versions}.

    pip install '.[keras-hub]'
    irbench optimize keras_hub_bert --level extended --batch {batch} --shape sequence={length}

`export` and the levels are nodes of the graphs. `max err` is how far the outputs of the worst level are from those of
the exported graph on ONNX Runtime without optimisations, at most, relative to the largest output; `as exported` is the
same of the exported graph on that runtime. Inputs are random; masks are all ones, all zeros, half ones and random.

{table}

{findings}
"""


def as_page(
    backbones: Sequence[Backbone], backends: Sequence[str], sizes: tuple[int, int], versions: Mapping[str, str]
) -> str:
    """Return everything as Markdown.

    Args:
        backbones: What was found.
        backends: In the order of the columns.
        sizes: Batch and tokens.
        versions: Of the distributions that this depends on.
    """
    return _PAGE.format(
        versions=", ".join(f"{name} {version}" for name, version in versions.items()),
        batch=sizes[0],
        length=sizes[1],
        table=as_table(backbones, backends).as_markdown(),
        findings="\n".join(f"- {finding}" for finding in _findings(backbones)),
    )


def _findings(backbones: Sequence[Backbone]) -> Iterator[str]:
    made = [backbone for backbone in backbones if not backbone.failure]
    yield f"{len(made)} of {len(backbones)} were exported and optimised."
    large = [backbone for backbone in made if backbone.nodes(_SHOWN) * _GOAL > backbone.nodes("none")]
    rest = f": all but {', '.join(backbone.name for backbone in large)}" if large else ""
    yield f"{len(made) - len(large)} have at most a fifth of the exported nodes at `{_SHOWN}`{rest}."
    yield from (
        f"In {backbone.name} stays: {WHAT_STAYS[backbone.name]}." for backbone in made if backbone.name in WHAT_STAYS
    )
    for backbone in made:
        for error in backbone.errors:
            if error in backbone.wrong:
                yield f"WRONG: {backbone.name} at `{error.level}` on {error.backend}: {error.failure}"
            elif error.failure and error.level == "none":
                yield f"{backbone.name} on {error.backend} is off as exported, too: {error.failure}"
