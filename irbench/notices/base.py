"""What codes have in common: one frozen class each, with its facts as fields and its words as methods.

A class is declared as a frozen dataclass would be, with nothing beside it::

    class TooSlow(Mark):
        code = "too-slow"
        says = "the row is slower than was asked for"

        p90_ms: float
        example_facts: ClassVar[ExampleFacts] = {"p90_ms": 61.2}

        def text(self) -> str:
            return f"p90 of {self.p90_ms:.3g} ms is too slow"

In documents it is ``{"code": "too-slow", "facts": {"p90_ms": 61.2}}``. It is found by its family, :attr:`Notice.known`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias, get_args, get_origin, get_type_hints

import msgspec
from msgspec import StructMeta

from irbench.core.quantities import ThroughputUnit, shortened

_ROW = "row"
ExampleFacts: TypeAlias = Mapping[str, Any]
RowId: TypeAlias = Annotated[str, _ROW]
"""The id of a cell: facts of this type name rows."""


@dataclass(frozen=True)
class Context:
    """What words may depend on besides their facts: the names of rows, and which remedies are left.

    Attributes:
        throughput: The unit of throughputs: of samples, or of tokens.
        thorough: Whether the run was a ``--thorough`` one already.
        has_idle_processors: Whether some processor that may be used is not measured on.
        can_add_processors: Whether ``--cpus`` left processors out that may be used.
    """

    names: Mapping[str, str] = field(default_factory=dict[str, str])
    throughput: ThroughputUnit = "FPS"
    thorough: bool = False
    has_idle_processors: bool = False
    can_add_processors: bool = False

    def name(self, cell: RowId) -> str:
        """Return what a row is called."""
        return self.names.get(cell, cell)

    def listed(self, cells: Iterable[RowId]) -> str:
        """Return what rows are called, as a list that ends with how many more there are where it would fill lines."""
        return shortened(map(self.name, cells), "row")


class _NoticeType(StructMeta):
    """Makes of a class with facts one that msgspec writes and reads as a code with facts."""

    Facts: type[msgspec.Struct]

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        """Return the class: what is annotated in its body goes into ``facts``, and is read from there."""
        annotations = namespace.pop("__annotations__", {})
        facts = {key: kind for key, kind in annotations.items() if not kind.startswith("ClassVar")}
        fields = [(key, kind, *([namespace[key]] if key in namespace else [])) for key, kind in facts.items()]
        inherited = tuple(base.Facts for base in bases if isinstance(base, _NoticeType))
        kind = msgspec.defstruct(
            f"{name}Facts",
            fields,
            bases=inherited or None,
            module=namespace["__module__"],
            frozen=True,
            kw_only=True,
            omit_defaults=True,
            rename=namespace.pop("in_documents", None),
        )
        namespace |= {key: property(attrgetter(f"facts.{key}")) for key in facts}
        namespace |= {"Facts": kind, "__annotations__": {"facts": kind}}
        tag = {"tag_field": "code", "tag": namespace["code"]} if "code" in namespace else {}
        return super().__new__(mcs, name, bases, namespace, frozen=True, **tag)

    if not TYPE_CHECKING:  # checkers see the constructor of a dataclass

        def __call__(cls, **facts: Any) -> Any:  # noqa: N805 - it is a class
            return super().__call__(cls.Facts(**facts))


class Notice(msgspec.Struct, metaclass=_NoticeType):
    """A code with its facts, which are JSON values: numbers, names, rows and mappings of these.

    A fact with a default is left out of documents where it has it. Documents may call a fact otherwise: a class says so
    in ``in_documents``, by the name of the fact.

    Attributes:
        known: Every class of a family, in the order of their declaration.
        code: What it is called in documents.
        says: One line of what it means, for the documentation.
        example_facts: The facts of one to show there; tests write and read it.
    """

    known: ClassVar[list[type[Any]]]
    code: ClassVar[str]
    says: ClassVar[str]
    example_facts: ClassVar[ExampleFacts] = {}

    if TYPE_CHECKING:

        @property
        def facts(self) -> msgspec.Struct:
            """All facts."""
            ...

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "code" in vars(cls):
            cls.known.append(cls)

    @classmethod
    def example(cls) -> Self:
        """Return one to show in the documentation."""
        return cls(**cls.example_facts)

    @property
    def named_rows(self) -> frozenset[str]:
        """The ids of the cells that it names; none where it is about the whole table."""
        return frozenset(_rows_in(self.facts, type(self.facts)))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **msgspec.structs.asdict(self.facts)), ()

    def __repr__(self) -> str:
        facts = ", ".join(f"{key}={value!r}" for key, value in msgspec.structs.asdict(self.facts).items())
        return f"{type(self).__name__}({facts})"


def _rows_in(value: Any, kind: Any) -> Iterator[str]:
    """Yield what a value of some type holds of :data:`RowId`."""
    if kind is RowId:
        yield value
    elif isinstance(value, msgspec.Struct):
        for name, inner in _hints(type(value)).items():
            yield from _rows_in(getattr(value, name), inner)
    elif get_origin(kind) is tuple:
        for item in value:
            yield from _rows_in(item, get_args(kind)[0])


@cache
def _hints(facts: type[msgspec.Struct]) -> Mapping[str, Any]:
    return get_type_hints(facts, include_extras=True)
