"""Drops the preconditions of passes, one at a time: a fuzzer that is worth its time finds each.

A precondition is an operand of a conjunction that a function returns, an ``all`` that it returns, a guard that returns
``False`` or ``None`` or goes on with a loop, an operand of the disjunction in such a guard, or an entry of a table of
numbers that constants must be. Comparisons with ``None`` are left alone: most are there for the type checker. The
preconditions of a pass are also those of the modules in which it looks for its pattern.
"""

from __future__ import annotations

import ast
import copy
import importlib
import itertools
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from unittest.mock import patch

from irbench.optimizer import pass_tools
from irbench.spi import Pass

_PARTS = {
    "fuse_attention": ("attention_chain", "attention_mask"),
    "fuse_group_normalization": ("moments",),
    "fuse_grouped_queries": ("repetition",),
    "fuse_layer_normalization": ("normalization", "moments"),
    "fuse_rms_normalization": ("normalization",),
    "fuse_rotary_embedding": ("rotation",),
    "loop_to_gru": ("recurrence",),
    "pack_attention": ("microsoft",),
}
"""Modules of ``irbench.optimizer.pass_tools`` in which a pass looks for its pattern, those that import others last."""


@dataclass(frozen=True)
class Mutant:
    """A pass without one of its preconditions.

    Attributes:
        name: The pass.
        function: Where the precondition was.
        condition: Its source.
        changed: The pass without it.
    """

    name: str
    function: str
    condition: str
    changed: Pass

    @property
    def label(self) -> str:
        """What reports call it."""
        return f"{self.name}.{self.function}: {self.condition}"


def mutants(name: str) -> Iterator[Mutant]:
    """Yield every mutant of a pass that can be loaded."""
    sources = sources_of(name)
    for module, tree in sources.items():
        for number, (function, condition) in enumerate(preconditions(tree)):
            made = _executed({**sources, module: _without(tree, number)})
            yield Mutant(name, function, condition, getattr(made, name))


def sources_of(name: str) -> dict[str, ast.Module]:
    """Return the source of each module in which a pass looks for its pattern, that of the pass itself last."""
    own = entry_points(group="irbench.passes")[name].module
    parts = [f"{pass_tools.__name__}.{part}" for part in _PARTS.get(name, ())]
    return {module: _source(module) for module in (*parts, own)}


def _source(module: str) -> ast.Module:
    path = importlib.import_module(module).__file__
    assert path is not None
    return ast.parse(Path(path).read_text(), path)


def _executed(sources: Mapping[str, ast.Module]) -> types.ModuleType:
    """Execute modules one after the other, where each finds those before it, and return the last one."""
    made = {module: types.ModuleType(module) for module in sources}
    with patch.dict(sys.modules, made):
        for module, tree in sources.items():
            exec(compile(tree, module, "exec"), made[module].__dict__)
    return list(made.values())[-1]


def preconditions(tree: ast.Module) -> list[tuple[str, str]]:
    """Return function and source of every precondition of a module."""
    return [(function, condition) for function, condition, _ in _found(tree)]


def _without(tree: ast.Module, number: int) -> ast.Module:
    """Return a copy of a module without its precondition of this number."""
    copied = copy.deepcopy(tree)
    _found(copied)[number][2]()
    return ast.fix_missing_locations(copied)


def _found(tree: ast.Module) -> list[tuple[str, str, Callable[[], None]]]:
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    parts = [*tree.body, *itertools.chain.from_iterable(held.body for held in classes)]
    functions = [node for node in parts if isinstance(node, ast.FunctionDef)]
    tables = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)]
    found = [entry for table in tables for entry in _entries(table)]
    found += [entry for function in functions for entry in _in(function)]
    return [entry for entry in found if not entry[1].endswith(("is None", "is not None"))]


def _entries(table: ast.Assign) -> Iterator[tuple[str, str, Callable[[], None]]]:
    """Yield the entries of a table of numbers that constants must be."""
    held = table.value
    assert isinstance(held, ast.Dict)
    name = ast.unparse(table.targets[0])
    for key in held.keys:
        if isinstance(key, ast.Constant) and all(_is_number(value) for value in held.values):
            yield name, ast.unparse(key), _lost(held, key)


def _is_number(value: ast.expr) -> bool:
    return "str" not in type(getattr(value, "value", 0)).__name__ and not isinstance(value, ast.Tuple | ast.Lambda)


def _lost(held: ast.Dict, key: ast.expr) -> Callable[[], None]:
    def lose() -> None:
        place = held.keys.index(key)
        del held.keys[place], held.values[place]

    return lose


def _in(function: ast.FunctionDef) -> Iterator[tuple[str, str, Callable[[], None]]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.BoolOp) and isinstance(node.value.op, ast.And):
            yield from _operands(function.name, node.value)
        elif isinstance(node, ast.Return) and _is_call(node.value, "all"):
            yield function.name, ast.unparse(node.value or node), _true(node)
        elif isinstance(node, ast.If) and _is_guard(node):
            if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or):
                yield from _operands(function.name, node.test)
            else:
                yield function.name, f"if {ast.unparse(node.test)}", _never(node)


def _operands(function: str, operation: ast.BoolOp) -> Iterator[tuple[str, str, Callable[[], None]]]:
    for operand in operation.values:
        yield function, ast.unparse(operand), _dropped(operation, operand)


def _dropped(operation: ast.BoolOp, operand: ast.expr) -> Callable[[], None]:
    def drop() -> None:
        neutral = ast.Constant(value=isinstance(operation.op, ast.And))
        operation.values[operation.values.index(operand)] = neutral

    return drop


def _is_call(value: ast.expr | None, name: str) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == name


def _true(returned: ast.Return) -> Callable[[], None]:
    def drop() -> None:
        returned.value = ast.Constant(value=True)

    return drop


def _never(guard: ast.If) -> Callable[[], None]:
    def drop() -> None:
        guard.test = ast.Constant(value=False)

    return drop


def _is_guard(node: ast.If) -> bool:
    """Whether an if leaves at once, without a result."""
    if len(node.body) != 1 or node.orelse:
        return False
    (only,) = node.body
    returned = only.value if isinstance(only, ast.Return) else None
    empty = returned is None or (isinstance(returned, ast.Constant) and returned.value in (False, None))
    return isinstance(only, ast.Continue) or (isinstance(only, ast.Return) and empty)
