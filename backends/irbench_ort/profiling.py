"""Sessions that record the time of each kernel, and which nodes of the graph each kernel computes."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from irbench.onnx.reading.counterparts import ContainedNodes
from irbench.onnx.reading.external_data import read_outline
from irbench.onnx.reading.inventory import NodeEntry, take_inventory
from irbench.spec import Artifact, Scalar
from irbench.spi import InferenceProfile, Refusal
from irbench_ort.profile_events import gpu_inferences_of, inferences_of, read_events
from irbench_ort.session import OrtSession

LAYOUT_KINDS = frozenset({"Cast", "MemcpyFromHost", "MemcpyToHost", "ReorderInput", "ReorderOutput", "Transpose"})
"""Operators that ONNX Runtime inserts: their output is their input in another place, type or layout."""
_BLOCKED = re.compile(r"(?P<output>.*)_n(?:chw|hw)c(?:_token_\d+)?$")
"""Names of nodes in a layout of the CPU provider's: that of the output which the original node had."""
_SUM_INPUT = 3
"""The place of the input that a fused convolution adds to its result."""


def contained_nodes(original: Path, optimised: Path) -> Mapping[str, tuple[str, ...]]:
    """Return the labels of the original nodes that each optimised node computes, by its name.

    Nodes without a name are found under the label that their first output gives them; see :class:`NodeEntry`.
    """
    inventory, nodes = take_inventory(original), tuple(_nodes(read_outline(optimised).graph))
    weights = (weight.name for weight in inventory.weights)
    walk = _ProfileWalk(ContainedNodes(inventory.nodes, weights, kept=frozenset(map(_label, nodes))))
    return {_label(node): walk.claim(node) for node in nodes}


def unnamed_node(nodes: Sequence[NodeEntry], op_type: str, index: int) -> NodeEntry | None:
    """Return the node without a name that an event calls by its operator and its number; ``None`` where it is unclear.

    In the main graph a node's number is its place. In a body, a node is found if it is the only one of its operator
    without a name.
    """
    unnamed = [node for node in nodes if not node.name and node.op_type == op_type]
    numbered = [node for node in nodes if not node.inner][index : index + 1]
    matches = [node for node in numbered if node in unnamed] or [node for node in unnamed if node.inner]
    return matches[0] if len(matches) == 1 else None


class _ProfileWalk:
    """Follows the optimised graph in the order of execution, and knows which original tensor each of its own is."""

    def __init__(self, graph: ContainedNodes) -> None:
        self._graph = graph
        self._originals: dict[str, str] = {}

    def claim(self, node: Any) -> tuple[str, ...]:
        named = self._graph.node(node.name) if node.name else None
        outputs = tuple(self._original(node, place, named) for place in range(len(node.output)))
        self._originals.update(zip(node.output, outputs, strict=True))
        if named is None and node.op_type in LAYOUT_KINDS and not any(map(self._graph.maker, node.output)):
            return ()
        return self._graph.claim(outputs, "" if named is None else named.label)

    def _original(self, node: Any, place: int, named: NodeEntry | None) -> str:
        output: str = node.output[place]
        if self._graph.maker(output) is not None:
            return output
        blocked = _BLOCKED.match(node.name)
        if blocked is not None and self._graph.maker(blocked["output"]) is not None:
            return self._behind_fused(node, blocked["output"])
        if named is not None and place < len(named.outputs):
            return named.outputs[place]
        if node.op_type in LAYOUT_KINDS and node.input:
            source: str = node.input[0]
            return self._originals.get(source, source)
        return ""

    def _behind_fused(self, node: Any, output: str) -> str:
        """Return the tensor behind the addition and the activation that a blocked node also computes."""
        attributes = {attribute.name: attribute.s.decode() for attribute in node.attribute if attribute.s}
        followers = ["Add"] if len(node.input) > _SUM_INPUT and node.input[_SUM_INPUT] else []
        followers += [attributes["activation"]] if "activation" in attributes else []
        for op_type in followers:
            maker, user = self._graph.maker(output), self._graph.only_user(output)
            assert maker is not None
            if maker.op_type != op_type and user is not None and user.op_type == op_type:
                output = user.outputs[0]
        return output


def _nodes(graph: Any) -> Iterator[Any]:
    for node in graph.node:
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _nodes(body)
        yield node


def _label(node: Any) -> str:
    return NodeEntry(node.name, node.op_type, node.domain, (), tuple(node.output)).label


_NUMBERED = re.compile(r"(?P<op_type>.*)_(?P<index>\d+)$")
"""How events name a node that has no name."""


class Recording:
    """The files of one profile: what the session records, and the graph that it runs.

    ONNX Runtime records from the session's start until it is told to end, once, and writes the file then.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="irbench-ort-profile-")
        self.graph = Path(self._folder.name) / "optimised.onnx"

    def switch_on(self, settings: Any) -> None:
        """Have a session with these SessionOptions record."""
        settings.enable_profiling = True
        settings.profile_file_prefix = str(Path(self._folder.name) / "profile")

    def remove(self) -> None:
        """Remove the files."""
        self._folder.cleanup()


class OrtProfiledSession(OrtSession):
    """One InferenceSession that records every run.

    The session was created with ``recording`` switched on; the optimised graph is in its folder.
    """

    def __init__(
        self, session: Any, artifact: Artifact, device: str, effective: Mapping[str, Scalar], recording: Recording
    ) -> None:
        super().__init__(session, artifact, device, effective)
        self._recording = recording
        self._inferences_of = gpu_inferences_of if device == "cuda" else inferences_of

    def start_profile(self) -> None:
        """Do nothing: the runs that count are the last ones."""

    def finish_profile(self, inferences: int) -> Sequence[InferenceProfile]:
        """Return the last so many runs; see :class:`irbench.spi.ProfiledSession`."""
        events = read_events(Path(self._session.end_profiling()))
        profiles = self._inferences_of(events, inferences, self._contained)
        self._recording.remove()
        if profiles is None:
            raise Refusal(
                f"ONNX Runtime's profile ends before the {inferences} inferences do.",
                hint="It holds a million events: profile fewer inferences.",
            )
        return profiles

    def close(self) -> None:
        """Drop the session and the files."""
        super().close()
        self._recording.remove()

    def _contained(self, name: str, reported: Mapping[str, Any]) -> tuple[str, ...]:
        if name in self._by_name:
            return self._by_name[name]
        numbered = _NUMBERED.match(name)
        if numbered is None or numbered["op_type"] != reported.get("op_name"):
            return ()
        original = unnamed_node(self._nodes, numbered["op_type"], int(numbered["index"]))
        return () if original is None else self._by_name.get(original.label, (original.label,))

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[str, ...]]:
        if not self._recording.graph.exists():  # a provider that compiled parts of it has them in no form to be written
            return {node.label: (node.label,) for node in self._nodes}
        return contained_nodes(self._artifact.path, self._recording.graph)

    @cached_property
    def _nodes(self) -> Sequence[NodeEntry]:
        return take_inventory(self._artifact.path).nodes
