"""What XLA compiled: the instructions of a module, with the TensorFlow nodes that each of them computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from irbench.spi import TensorShape

_NO_WORK = frozenset({"constant", "parameter"})
_LAYOUT = frozenset({"bitcast", "broadcast", "copy", "get-tuple-element", "reshape", "transpose", "tuple"})
"""What XLA puts between other instructions, under the name of a node that computes more than that."""
_NOT_EXECUTED = frozenset({"bitcast", "get-tuple-element", "tuple"})
_CALLS_INSIDE = frozenset({"call", "custom-call", "fusion"})
"""Instructions whose called computations are a part of them; the bodies of loops and branches are traced themselves."""
_WIDTHS = {"S": "int", "U": "uint", "F": "float", "BF": "bfloat", "C": "complex"}


@dataclass(frozen=True)
class Instruction:
    """One instruction of a compiled module.

    Attributes:
        nodes: Names of the nodes of the TensorFlow graph in it; those that an instruction before it has computed, and
            that it computes again for itself, are left out unless there are no others.
        operands: Names of the executed instructions that it reads.
    """

    kind: str
    nodes: tuple[str, ...]
    inputs: tuple[TensorShape, ...]
    outputs: tuple[TensorShape, ...]
    operands: tuple[str, ...] = ()


def read_instructions(module: Any, type_name: Callable[[int], str]) -> Mapping[str, Instruction]:
    """Return the instructions of a module by their names, which are unique in it.

    Args:
        module: An ``HloModuleProto`` message.
        type_name: Returns what XLA calls an element type, ``F32`` for example.
    """
    computations = {computation.id: computation for computation in module.computations}
    by_id = {found.id: found for computation in module.computations for found in computation.instructions}
    named: set[str] = set()
    found: dict[str, Instruction] = {}
    for instruction in _executed(module):
        operands = [by_id[operand] for operand in instruction.operand_ids]
        names = _nodes(instruction, computations)
        fresh = tuple(name for name in names if name not in named)
        named.update(names)
        found[instruction.name] = Instruction(
            kind=instruction.custom_call_target or instruction.opcode,
            nodes=fresh or names[-1:] or _of_constants(operands),
            inputs=tuple(shape for operand in operands for shape in _shapes(operand.shape, type_name)),
            outputs=tuple(_shapes(instruction.shape, type_name)),
            operands=tuple(dict.fromkeys(_executed_operands(instruction, by_id))),
        )
    return found


def _executed_operands(instruction: Any, by_id: Mapping[int, Any]) -> Iterator[str]:
    for operand in instruction.operand_ids:
        source = by_id[operand]
        if source.opcode in _NOT_EXECUTED:
            yield from _executed_operands(source, by_id)
        else:
            yield source.name


def _executed(module: Any) -> Iterator[Any]:
    """Give the instructions of all computations but those that are a part of an instruction, in their order."""
    parts = {
        called
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.opcode in _CALLS_INSIDE
        for called in instruction.called_computation_ids
    }
    for computation in module.computations:
        if computation.id not in parts:
            yield from computation.instructions


def _nodes(instruction: Any, computations: Mapping[int, Any]) -> tuple[str, ...]:
    parts = [part for part in _parts(instruction, computations) if part.metadata.op_type and part.metadata.op_name]
    computed = [part for part in parts if part.opcode not in _LAYOUT] or parts
    return tuple(dict.fromkeys(part.metadata.op_name for part in computed))


def _parts(instruction: Any, computations: Mapping[int, Any]) -> Iterator[Any]:
    if instruction.opcode in _CALLS_INSIDE:
        for called in instruction.called_computation_ids:
            for inner in computations[called].instructions:
                yield from _parts(inner, computations)
    if instruction.opcode not in _NO_WORK:
        yield instruction


def _of_constants(operands: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of constants: an instruction that XLA made of another and did not name reads that one's."""
    names = (operand.metadata.op_name for operand in operands if operand.opcode == "constant")
    return tuple(dict.fromkeys(filter(None, names)))


def _shapes(shape: Any, type_name: Callable[[int], str]) -> Iterator[TensorShape]:
    if shape.tuple_shapes:
        for part in shape.tuple_shapes:
            yield from _shapes(part, type_name)
    else:
        yield TensorShape(_dtype(type_name(shape.element_type)), tuple(shape.dimensions))


def _dtype(name: str) -> str:
    letters = name.rstrip("0123456789")
    if name == "PRED":
        return "bool"
    return f"{_WIDTHS[letters]}{name.removeprefix(letters)}" if letters in _WIDTHS and letters != name else ""
