"""The checks that backends and references share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from irbench.core import registry
from irbench.spec import Artifact, Io, Load
from irbench.spi import Backend, Feed, Outputs
from irbench.testing.backend_calls import Answer, feed, find
from irbench.testing.judging import (
    DEADLINE_S,
    Ask,
    asking,
    difference,
    fail,
    imported_modules,
    in_words,
    modules_of,
    own_modules,
)
from irbench.testing.small_model_contract import SAMPLES, SmallModelContract
from irbench.worker import call_in_worker


class RuntimeContract(SmallModelContract):
    """The checks that a backend and a reference share; subclasses name the part."""

    def expected(self, artifact: Artifact, feeds: Sequence[Feed]) -> Sequence[Outputs]:
        """Return the right outputs of the small model for each feed: what another reference answers.

        Override it for a kind of model that no installed reference reads.

        Args:
            artifact: The model, every dimension bound.
            feeds: Inputs of several calls, each one array per input.
        """
        itself = {self.subject()} if self.group == registry.REFERENCES else set[str]()
        others = sorted({*registry.names(registry.REFERENCES)} - itself)
        judges = [name for name in others if _reads(registry.reference(name), artifact.kind)]
        if not judges:
            fail(
                f"Nothing that is installed tells the right answers for models of kind {artifact.kind}.",
                f"Override {type(self).__name__}.expected(artifact, feeds): it returns outputs for each feed.",
            )
        asked = (registry.REFERENCES, judges[0], artifact, feeds)
        given: list[Answer] = call_in_worker("irbench.testing.backend_calls:given", *asked, deadline_s=DEADLINE_S)
        return given

    @pytest.fixture(scope="class")
    @classmethod
    def right(cls, bound: Artifact) -> Sequence[Outputs]:
        """Return the right outputs for seeds 0 and 1."""
        return cls().expected(bound, [feed(bound, seed) for seed in (0, 1)])

    @pytest.fixture(scope="class")
    @classmethod
    def ask(cls, part: Backend, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
        """Call functions in the part's own worker; every load there has the same threads."""
        with asking("irbench.testing.backend_calls", part.name, tmp_path_factory.mktemp("worker")) as call:
            yield call

    @in_words
    def test_it_is_described_without_importing_its_runtime(self, part: Backend) -> None:
        """Listing backends must cost nothing."""
        description = part.describe()
        assert description.name == part.name == self.subject(), "all names must be that of the entry point"
        assert description.distribution, "describe() must name the distribution of the runtime"
        assert description.devices[:1] == ("cpu",), "the first device that describe() names must be cpu"
        code = f"from irbench.testing.backend_calls import find; find({self.group!r}, {self.subject()!r}).describe()"
        imported = imported_modules(code, besides="import irbench.testing.backend_calls")
        runtime = imported & modules_of([description.distribution]) - own_modules(part)
        if runtime:
            fail(
                f"{part.name} imports {', '.join(sorted(runtime))} before it is asked to.",
                "Import the runtime in import_runtime() and compile(), not at the top of the module.",
            )

    @pytest.mark.parametrize("io", ["copy", "bound"])
    def test_it_answers_what_a_reference_answers_and_fresh_inputs_change_that(
        self, ask: Ask, bound: Artifact, right: Sequence[Outputs], io: Io
    ) -> None:
        """Three calls with inputs A, B and A again."""
        at_once, _ = ask("answers", self.group, self.subject(), bound, self.load, io, (0, 1, 0))
        for number, (answer, seed) in enumerate(zip(at_once, (0, 1, 0), strict=True), start=1):
            wrong = difference(answer, right[seed])
            stale = number == 2 and difference(answer, right[0]) is None
            if wrong and stale:
                fail(
                    f"With io={io!r}, {self.subject()} answered the second inputs as it had answered the first.",
                    "stage() must bring the new inputs to where run() reads them.",
                )
            if wrong:
                fail(
                    f"With io={io!r}, {self.subject()} answered call {number} wrongly: {wrong}.",
                    "Compare the order and the layout of inputs and outputs with artifact.inputs and artifact.outputs.",
                )

    @pytest.mark.parametrize("io", ["copy", "bound"])
    def test_outputs_stay_valid_after_the_next_run(self, ask: Ask, bound: Artifact, io: Io) -> None:
        """The harness keeps outputs and compares them later."""
        at_once, later = ask("answers", self.group, self.subject(), bound, self.load, io, (0, 1))
        changed = difference(later[0], at_once[0])
        if changed:
            fail(
                f"With io={io!r}, the outputs that {self.subject()} had fetched changed in the next run: {changed}.",
                "fetch() must return arrays of its own: copy what lies in a buffer that the runtime writes again.",
            )

    def test_it_refuses_a_device_that_is_not_here(self, ask: Ask, bound: Artifact) -> None:
        """A wrong name must not end up on the CPU."""
        outcome = ask("effective", self.group, self.subject(), bound, self.load, "abacus")
        self.require_refusal(outcome, "the device abacus")

    def test_it_refuses_an_option_that_it_does_not_know(self, ask: Ask, bound: Artifact) -> None:
        """A mistyped option must not be measured as if it had an effect."""
        load = Load(
            batch=SAMPLES, threads=self.load.threads, streams=self.load.streams, options={"no_such_option": "1"}
        )
        outcome = ask("effective", self.group, self.subject(), bound, load)
        self.require_refusal(outcome, "the option no_such_option", names="no_such_option")

    @in_words
    def test_it_loads_and_then_compiles_and_can_be_closed_twice(self, ask: Ask, bound: Artifact) -> None:
        """The harness times both phases apart."""
        opened = ask("phases", self.group, self.subject(), bound, self.load)
        assert opened == ["open load", "close load", "open compile", "close compile"], (
            'compile() must open phases("load") once, then phases("compile") once'
        )

    @in_words
    def test_it_tells_what_it_really_uses(self, ask: Ask, bound: Artifact) -> None:
        """The effective settings of a session are shown in tables."""
        effective = self.effective(ask, bound, self.load)
        assert effective["precision"] == "fp32", "the model is fp32, and fp32 was asked for"
        assert effective["device"] == "cpu", "effective must name the device that compile() was given"
        assert effective["streams"] == self.load.streams, "effective must tell the streams of the load"
        assert effective["threads"] in (self.load.threads, None), "effective may not tell another number of threads"
        assert effective.get("version") == find(self.group, self.subject()).describe().version, (
            "effective and describe() must tell the same version"
        )
        others = {key: value for key, value in effective.items() if not _is_scalar(value)}
        assert others == {}, "every value of effective must be a string, a number, a boolean or None"

    def effective(self, ask: Ask, bound: Artifact, load: Load) -> Mapping[str, Any]:
        """Return what a session reads back; fail where the backend refuses."""
        outcome = ask("effective", self.group, self.subject(), bound, load)
        if not isinstance(outcome, Mapping):
            message, hint = outcome
            fail(
                f"{self.subject()} refused a load with {load.threads} threads, {load.streams} streams and precision"
                f" {load.precision}: {message} {hint}",
                "A backend must run that on the CPU.",
            )
        missing = [key for key in ("precision", "threads", "streams", "device") if key not in outcome]
        if missing:
            fail(f"effective of {self.subject()} lacks {', '.join(missing)}.", "See irbench.spi.Session.effective.")
        return outcome

    def require_refusal(self, outcome: Mapping[str, Any] | tuple[str, str], what: str, names: str = "") -> None:
        """Fail unless something was refused, with a message that contains ``names``, and with a hint."""
        if isinstance(outcome, Mapping):
            fail(
                f"{self.subject()} accepted {what}, which it cannot know.",
                "compile() must raise irbench.spi.Refusal for what it cannot do.",
            )
        message, hint = outcome
        if not message or names not in message:
            fail(f"{self.subject()} refused {what}, but its message was {message!r}.", "Name in it what is refused.")
        if not hint:
            fail(f"{self.subject()} refused {what} without a hint.", "Say what it can do: Refusal(message, hint=...).")


def _reads(reference: Backend, kind: str) -> bool:
    return kind in reference.consumes and reference.describe().version is not None


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
