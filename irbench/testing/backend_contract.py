"""The contract that every backend keeps, whoever wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from irbench.core import registry
from irbench.onnx.rewriting.bind import bind
from irbench.spec import BATCH, Artifact, Io, Load, Precision
from irbench.spi import Outputs
from irbench.testing.judging import Ask, asking, difference, fail, in_words
from irbench.testing.runtime_contract import RuntimeContract
from irbench.testing.small_model_contract import SAMPLES

_THREADS = _STREAMS = 2
_CALLS = 20
_WIDE = 256
"""A batch with which every call takes a while."""
_MORE_USED, _MORE_WANTED = 1.05, 1.1
"""How many more processors than threads a backend may have used, and would have used on a quiet machine."""


class BackendContract(RuntimeContract):
    """What every backend of ``irbench.backends`` keeps.

    A subclass whose name begins with ``Test`` names it::

        class TestMine(BackendContract):
            backend = "mine"

    Every check runs in a worker process, as measurements do. A backend that does not read ``onnx`` overrides
    :meth:`artifact`, and :meth:`expected` where no reference reads its kind either. ``hands_over`` says that a thread
    of the runtime computes while the calling one waits.
    """

    backend: ClassVar[str]
    hands_over: ClassVar[bool] = False
    group = registry.BACKENDS
    load = Load(batch=SAMPLES, threads=_THREADS, streams=_STREAMS)

    @classmethod
    def subject(cls) -> str:
        """Return the name of the backend."""
        return cls.backend

    @pytest.mark.parametrize("io", ["copy", "bound"])
    @in_words
    def test_slots_answer_for_themselves_when_they_are_called_at_once(self, ask: Ask, bound: Artifact, io: Io) -> None:
        """Two slots with other inputs, called from two threads, answer as each does alone."""
        alone, collected = ask("concurrent_answers", self.backend, bound, self.load, io, _CALLS)
        assert [len(answers) for answers in collected] == [_CALLS] * _STREAMS, "open_slots() must return count slots"
        for slot, answers in enumerate(collected):
            for answer in answers:
                wrong = difference(answer, alone[slot])
                if wrong:
                    fail(
                        f"With io={io!r}, slot {slot} of {self.backend} answers otherwise beside another one: {wrong}.",
                        "Slots may share no buffer and no inputs: each thread has one of its own.",
                    )

    @in_words
    def test_a_queued_request_is_done_exactly_once(self, ask: Ask, bound: Artifact, right: Sequence[Outputs]) -> None:
        """For slots that have ``start``."""
        counts, outputs = ask("queued_answers", self.backend, bound, self.load, _CALLS)
        if not counts:
            pytest.skip(f"{self.backend} queues nothing")
        assert counts == [[1] * _CALLS] * _STREAMS, "start(done) must call done once, when the inference has ended"
        for slot, answer in enumerate(outputs):
            wrong = difference(answer, right[slot])
            if wrong:
                fail(
                    f"Slot {slot} of {self.backend} answered a queued request wrongly: {wrong}.",
                    "fetch() must return the outputs of the request that was started last.",
                )

    @pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
    @in_words
    def test_it_computes_in_the_precision_asked_for_or_refuses_with_a_way_out(
        self, ask: Ask, bound: Artifact, precision: Precision
    ) -> None:
        """A row must not be labelled with a precision that it does not have."""
        outcome = ask("effective", self.group, self.backend, bound, _in_precision(precision))
        if isinstance(outcome, dict):
            assert outcome["precision"] == precision, "compile() must refuse a precision that it does not compute in"
        else:
            self.require_refusal(outcome, f"the precision {precision}", names=precision)

    @in_words
    def test_its_own_default_precision_is_shown_as_what_it_turns_out_to_be(self, ask: Ask, bound: Artifact) -> None:
        """``native`` is a question, and no answer."""
        effective = self.effective(ask, bound, _in_precision("native"))
        assert effective["precision"] in {"fp32", "bf16", "fp16", "tf32"}, "effective must name a precision"

    @pytest.mark.parametrize(("threads", "streams"), [(1, 1), (2, 2)])
    def test_it_uses_no_more_processors_than_threads_were_asked_for(
        self, model: Artifact, tmp_path: Path, threads: int, streams: int
    ) -> None:
        """Rows with as many threads are compared with each other."""
        wide = bind(model, {BATCH: _WIDE}, tmp_path)
        load = Load(batch=_WIDE, threads=threads, streams=streams)
        # a runtime whose libraries size their own pools is told by these, as it is in a run
        limits: dict[str, str] = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
        with asking("irbench.testing.backend_calls", self.backend, tmp_path, limits) as ask:
            used, wanted = ask("processors_used", self.backend, wide, load)
        # with streams, or where calls are handed over, a thread that was just woken may wait while its waker still runs
        is_alone = streams == 1 and not self.hands_over
        too_many = used > _MORE_USED * threads or (is_alone and wanted > _MORE_WANTED * threads)
        if used <= 0.0 or too_many:
            fail(
                f"{self.backend} kept {max(used, wanted):.2f} processors busy with {threads} threads in all and"
                f" {streams} streams.",
                "load.threads is the total of the process: divide it between the streams, and tell the runtime.",
            )


def _in_precision(precision: Precision) -> Load:
    return Load(batch=SAMPLES, threads=_THREADS, streams=_STREAMS, precision=precision)
