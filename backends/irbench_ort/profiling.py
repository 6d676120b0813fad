"""Sessions that record the time of each kernel."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from irbench.onnx.reading.inventory import NodeEntry, take_inventory
from irbench.spec import Artifact, Scalar
from irbench.spi import InferenceProfile, Refusal
from irbench_ort.fused_nodes import contained_nodes, unnamed_node
from irbench_ort.gpu_events import gpu_inferences_of
from irbench_ort.profile_events import inferences_of, read_events
from irbench_ort.session import OrtSession

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

    Args:
        session: It was created with ``recording`` switched on.
        artifact: What it runs.
        device: Where.
        effective: What was read back.
        recording: Its files; the optimised graph is there.
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
        found = self._inferences_of(events, inferences, self._contained)
        self._recording.remove()
        if found is None:
            raise Refusal(
                f"ONNX Runtime's profile ends before the {inferences} inferences do.",
                hint="It holds a million events: profile fewer inferences.",
            )
        return found

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
