"""The contract that every backend keeps which says how long operators take, whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, TypeAlias

import pytest

from irbench.core import registry
from irbench.spec import Artifact, Load
from irbench.spi import Backend, InferenceProfile, OperatorTime, ProfilingBackend
from irbench.testing.judging import Ask, asking, difference, fail, in_words
from irbench.testing.profile_calls import nodes_of_onnx
from irbench.testing.small_model_contract import SAMPLES, SmallModelContract

_INFERENCES, _TOO_MANY = 30, 1000
_THREADS = 2
_MOST_OF_LATENCY = 1.2

Profiled: TypeAlias = tuple[list[int], list[InferenceProfile]]
"""Latencies of inferences in nanoseconds, and their profiles."""


class ProfileContract(SmallModelContract):
    """What a backend keeps that is an :class:`irbench.spi.ProfilingBackend`.

    A subclass whose name begins with ``Test`` names it::

        class TestProfilesOfMine(ProfileContract):
            backend = "mine"

    A backend that does not read ``onnx`` overrides :meth:`artifact` and :meth:`nodes`.
    """

    backend: ClassVar[str]
    group = registry.BACKENDS
    load = Load(batch=SAMPLES, threads=_THREADS)
    layout_operators: ClassVar[frozenset[str]] = frozenset(
        {"Cast", "Convert", "Reorder", "ReorderInput", "ReorderOutput", "Transpose", "copy", "transpose"}
    )
    """Kinds of operators that runtimes add to change layouts: these belong to no node of a model."""

    @classmethod
    def subject(cls) -> str:
        """Return the name of the backend."""
        return cls.backend

    def nodes(self, artifact: Artifact) -> Sequence[str]:
        """Return what the nodes of a model that compute are called; none where the runtime names no nodes."""
        return nodes_of_onnx(artifact)

    @pytest.fixture(scope="class")
    @classmethod
    def ask(cls, part: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
        """Call functions of ``profile_calls`` in the backend's own worker."""
        if not isinstance(part, ProfilingBackend):
            fail(f"{cls.backend} does not profile.", "Give it compile_profiled(): see irbench/spi/profiling.py.")
        with asking("irbench.testing.profile_calls", part.name, tmp_path_factory.mktemp("worker")) as call:
            yield call

    @pytest.fixture(scope="class")
    @classmethod
    def profiled(cls, ask: Ask, bound: Artifact) -> Profiled:
        """Return what the backend recorded of some inferences."""
        found: Profiled = ask("profiled", cls.backend, bound, cls.load, _INFERENCES)
        if not all(profile.operators for profile in found[1]) or not found[1]:
            fail(
                f"{cls.backend} recorded no operators of {_INFERENCES} inferences.",
                "finish_profile() must return the operators of every inference, or raise Refusal.",
            )
        return found

    @in_words
    def test_every_inference_is_in_exactly_one_profile(self, profiled: Profiled) -> None:
        """One profile for each, or one that says of how many it is the average."""
        _, profiles = profiled
        counted = sum(profile.averages for profile in profiles)
        assert counted == _INFERENCES, "finish_profile(count) must return profiles of that many inferences together"
        empty = [place for place, profile in enumerate(profiles) if not _computing(profile)]
        assert empty == [], "every profile must have operators that are not overhead"

    @in_words
    def test_operators_take_time_and_no_more_than_the_inference_on_all_threads(self, profiled: Profiled) -> None:
        """Durations are nanoseconds of one inference."""
        latency_ns, profiles = profiled
        operators = [(operator, each.averages) for each in profiles for operator in each.operators]
        assert min(operator.duration_ns for operator, _ in operators) >= 0, "durations must not be negative"
        spent_ns = sum(operator.duration_ns * averages for operator, averages in operators)
        if not 0 < spent_ns < _MOST_OF_LATENCY * _THREADS * sum(latency_ns):
            fail(
                f"Operators of {self.backend} took {spent_ns / 1e6:.3f} ms of {sum(latency_ns) / 1e6:.3f} ms on"
                f" {_THREADS} threads.",
                "OperatorTime.duration_ns is in nanoseconds; no time may be counted twice.",
            )

    @in_words
    def test_operators_begin_within_the_inference(self, profiled: Profiled) -> None:
        """Where a profile is of one inference, and tells when operators began."""
        latency_ns, profiles = profiled
        if len(profiles) != len(latency_ns):
            pytest.skip("it tells averages")
        for latency, profile in zip(latency_ns, profiles, strict=True):
            starts = [operator.start_ns for operator in profile.operators if operator.start_ns is not None]
            outside = [start for start in starts if not 0 <= start <= latency]
            assert outside == [], f"start_ns counts from the start of the inference, which took {latency} ns"

    def test_every_node_is_in_an_operator_unless_some_have_lost_their_names(
        self, bound: Artifact, profiled: Profiled
    ) -> None:
        """Profiles of two runtimes are joined by the nodes of the model."""
        _, (first, *_) = profiled
        wanted = set(self.nodes(bound))
        named = {node for operator in first.operators for node in operator.nodes}
        nameless = [each for each in _computing(first) if not each.nodes and each.kind not in self.layout_operators]
        lost = sorted(wanted - named)
        if wanted and ((lost and not nameless) or len(lost) * 2 >= len(wanted)):
            fail(
                f"No operator of {self.backend} names these nodes: {', '.join(lost)}.",
                "OperatorTime.nodes are the names of all nodes that an operator computes, fused ones included.",
            )

    @in_words
    def test_operators_tell_what_they_are(self, profiled: Profiled) -> None:
        """Each has a name, a kind and a device."""
        _, (first, *_) = profiled
        vague = [each.name for each in first.operators if not (each.name and each.kind and each.device == "cpu")]
        assert vague == [], "every operator must have a name, a kind and the device cpu"

    @in_words
    def test_a_profiled_session_is_set_as_any_other(self, ask: Ask, bound: Artifact) -> None:
        """A profile is one of the row that was measured."""
        plain, recording = ask("effective", self.backend, bound, self.load)
        assert recording == plain, "compile_profiled() must set what compile() sets"

    def test_it_answers_the_same_while_it_records_and_in_a_session_after(self, ask: Ask, bound: Artifact) -> None:
        """Recording must change no result."""
        after, during = ask("answers", self.backend, bound, self.load)
        wrong = difference(during, after)
        if wrong:
            fail(
                f"{self.backend} answers otherwise while it records: {wrong}.",
                "compile_profiled() must compile what compile() compiles.",
            )

    def test_it_refuses_to_tell_of_inferences_that_it_did_not_make(self, ask: Ask, bound: Artifact) -> None:
        """Runtimes drop records when their buffers are full."""
        message, hint = ask("missing", self.backend, bound, self.load, _TOO_MANY)
        if str(_TOO_MANY) not in message or not hint:
            fail(
                f"{self.backend} was asked for {_TOO_MANY} inferences after 2, and said {message!r} with the hint"
                f" {hint!r}.",
                f"finish_profile() must raise Refusal(message, hint=...) where any is missing; name {_TOO_MANY} in it.",
            )

    @in_words
    def test_it_leaves_no_files_behind(self, ask: Ask, bound: Artifact, tmp_path: Path) -> None:
        """Also where nothing was recorded."""
        left = ask("files_left", self.backend, bound, self.load, tmp_path)
        assert left == [], "close() must remove the files in which the runtime records"


def _computing(profile: InferenceProfile) -> list[OperatorTime]:
    return [operator for operator in profile.operators if not operator.is_overhead]
