"""A user's function as a backend: which kind it is, what it is given, and what it may return."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.measure.call_parts import part_names
from irbench.spec import Artifact, Load, Program, TensorSpec
from irbench.spec.generation import LOGITS, GenerationArtifact, GenerationGraph, Held
from irbench.spi import CellContext, Description, Session
from irbench.worker.inference import infer
from irbench.worker.own_code.callables import CallableBackend, is_factory
from irbench.worker.own_code.sessions import outputs_in_order

X, Y = TensorSpec("x", "float32", (2, 3)), TensorSpec("y", "float32", (2, 3))
GRAPH = Artifact(
    "onnx", Path("model.onnx"), (X, Y), (TensorSpec("sum", "float32", (2, 3)), TensorSpec("n", "int64", ()))
)
FEED = (np.ones((2, 3), np.float32), np.full((2, 3), 2, np.float32))
LOAD = Load(batch=2, threads=4, streams=3, precision="bf16")


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Call irbench from a folder with modules of the user's; what they change of this process is taken back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


PROMPT = np.array([[1, 2, 3], [4, 5, 6]], np.int64)


def opened(target: str, load: Load = LOAD, artifact: Artifact = GRAPH) -> Session:
    backend = CallableBackend("mine", Program("callable", target))
    backend.import_runtime(load, "cpu")
    return backend.compile(artifact, load, "cpu", lambda _: nullcontext())


def generation(new_tokens: int) -> GenerationArtifact:
    """Return texts of a decoder of ten tokens, whose only cache is called like its input."""
    ids, cache = TensorSpec("ids", "int64", ("batch", "tokens")), TensorSpec("past", "int64", ("batch", "past"))
    step = GenerationGraph(
        Artifact("onnx", Path("d.onnx"), (ids, cache), ()), ("tokens", Held("past", 1)), (LOGITS, "past")
    )
    outputs = (TensorSpec("tokens", "int64", (2, new_tokens)), TensorSpec("logits", "float32", (2, new_tokens, 10)))
    inputs = (TensorSpec("ids", "int64", PROMPT.shape),)
    return GenerationArtifact("onnx", Path("d.onnx"), inputs, outputs, new_tokens=new_tokens, step=step)


def test_a_function_is_called_with_the_inputs_by_name(in_folder: Path) -> None:
    (in_folder / "loop.py").write_text("def infer(inputs):\n    return [inputs['x'] + inputs['y'], len(inputs)]\n")
    (slot,) = opened("loop:infer").open_slots(1, "copy")
    total, count = infer(slot, FEED)
    assert total.tolist() == (FEED[0] + FEED[1]).tolist()
    assert count == 2


def test_a_function_with_a_cell_is_called_once_and_returns_the_one_that_is_timed(in_folder: Path) -> None:
    (in_folder / "deep").mkdir()
    (in_folder / "deep" / "helper.py").write_text("made = []\n")
    (in_folder / "deep" / "loop.py").write_text(
        "import helper\n"
        "def load(cell):\n"
        "    helper.made.append(cell)\n"
        "    def call(inputs):\n"
        "        return {'n': len(helper.made), 'sum': inputs.pop('x')}\n"
        "    call.effective = {'precision': 'bf16', 'threads': cell.threads}\n"
        "    return call\n"
    )
    session = opened("deep/loop.py:load")
    slots = session.open_slots(3, "bound")
    for slot in slots:
        for _ in range(2):
            assert [np.asarray(output).shape for output in infer(slot, FEED)] == [(2, 3), ()]
    context = sys.modules["helper"].made[0]
    assert infer(slots[0], FEED)[1] == 1
    assert context == CellContext(Path("model.onnx"), 2, 4, 3, "bf16", {"x": (2, 3), "y": (2, 3)}, ("sum", "n"))
    assert session.effective == {
        "precision": "bf16",
        "threads": 4,
        "streams": 3,
        "device": "cpu",
        "returns_outputs": True,
    }


def test_a_class_whose_instances_are_called_is_a_function_with_a_cell() -> None:
    class Loop:
        def __init__(self, cell: CellContext) -> None: ...

        def __call__(self, inputs: Any) -> None: ...

    assert is_factory(Loop)
    assert not is_factory(Loop.__call__)
    assert not is_factory(lambda inputs: inputs)
    assert not is_factory(print)


def test_what_returns_nothing_is_known_to_be_unverified(in_folder: Path) -> None:
    (in_folder / "loop.py").write_text("def infer(inputs): pass\n")
    session = opened("loop:infer")
    (slot,) = session.open_slots(1, "copy")
    assert infer(slot, FEED) == ()
    assert session.effective["returns_outputs"] is False
    assert session.effective["precision"] is None


def test_outputs_may_be_one_array_a_sequence_or_a_mapping() -> None:
    array = np.ones(2)
    assert list(outputs_in_order(array, ["a"])) == [array]
    assert outputs_in_order((array, 1), ["a", "b"]) == (array, 1)
    assert outputs_in_order({"b": 2, "a": 1, "more": 3}, ["a", "b"]) == [1, 2]
    assert outputs_in_order(None, ["a"]) == ()


async def coroutine() -> None: ...


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"b": 2}, "no output called 'a'"),
        (lambda inputs: inputs, "returned a function"),
        (coroutine(), "coroutine"),
    ],
)
def test_what_cannot_be_outputs_is_refused(answer: object, said: str) -> None:
    with pytest.raises(IrbenchError, match=said) as caught:
        outputs_in_order(answer, ["a"])
    assert caught.value.hint


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("def load(cell): return 3\n", "returned int, which cannot be called"),
        ("load = 3\n", "has no function load"),
        ("import nothing_of_this_name\n", "No module named 'nothing_of_this_name'"),
        ("raise RuntimeError('no device')\n", "RuntimeError: no device"),
    ],
)
def test_a_function_that_cannot_be_used_says_why(module: str, said: str, in_folder: Path) -> None:
    (in_folder / "loop.py").write_text(module)
    with pytest.raises(IrbenchError, match=said) as caught:
        opened("loop.py:load")
    assert caught.value.hint


class Doubling:
    """A backend whose model doubles its only input."""

    name, consumes = "doubling", ("onnx",)

    def __init__(self) -> None:
        self.feed: Any = ()
        self.effective = {"precision": "fp32", "threads": 7}
        self.opened: list[str] = []

    def describe(self) -> Any: ...

    def probe(self) -> Any: ...

    def import_runtime(self, load: Load, device: str) -> None: ...

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Any) -> Any:
        return self

    def open_slots(self, count: int, io: str) -> Any:
        self.opened.append(io)
        return [self] * count

    def stage(self, feed: Any) -> None:
        self.feed = feed

    def run(self) -> None: ...

    def fetch(self) -> Any:
        return [array * 2 for array in self.feed]

    def close(self) -> None:
        self.opened.append("closed")


@pytest.fixture
def doubling(monkeypatch: pytest.MonkeyPatch) -> Doubling:
    backend = Doubling()
    described = Description("doubling", "", "1.0")
    monkeypatch.setattr(registry, "names", lambda _: ("doubling",))
    monkeypatch.setattr(registry, "describe", lambda _, __: described)
    monkeypatch.setattr(registry, "backend", lambda _: backend)
    return backend


def test_stages_are_called_one_after_the_other_with_a_compiled_model_among_them(
    in_folder: Path, doubling: Doubling
) -> None:
    (in_folder / "pipe.py").write_text(
        "def second(cell):\n"
        "    return lambda outputs: {'n': cell.batch, 'sum': outputs[0] + outputs[1]}\n"
        "stages = {'both': lambda inputs: [inputs['x'], inputs['y']], 'model': 'doubling', 'sum': 'pipe:second'}\n"
        "def made(cell):\n"
        "    return stages\n"
    )
    for target in ("pipe:stages", "pipe.py:made"):
        session = opened(target)
        (slot,) = session.open_slots(1, "bound")
        total, count = infer(slot, FEED)
        assert total.tolist() == (2 * (FEED[0] + FEED[1])).tolist()
        assert count == 2
        assert part_names([slot]) == ("both", "model", "sum")
        assert session.effective["threads"] == 7
        assert session.effective["returns_outputs"] is True
        session.close()
    assert doubling.opened == ["copy", "closed"] * 2, "what a stage returns is new in each call, whatever --io says"


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("[inputs['x']]", ("x and y", "list of 1")),
        ("{'x': inputs['x']}", ("x and y", "dict")),
        ("[inputs['x'][:1], inputs['y']]", ("2x3", "1x3")),
        ("[inputs['x'], inputs['y'].astype('int8')]", ("float32", "int8")),
    ],
)
def test_a_model_names_what_it_takes_and_what_it_was_given(
    in_folder: Path, doubling: Doubling, returned: str, said: tuple[str, ...]
) -> None:
    (in_folder / "pipe.py").write_text(f"stages = {{'first': lambda inputs: {returned}, 'model': 'doubling'}}\n")
    (slot,) = opened("pipe.py:stages").open_slots(1, "copy")
    with pytest.raises(IrbenchError) as refused:
        infer(slot, FEED)
    assert all(word in refused.value.message for word in ("first", "model", *said))
    assert refused.value.hint


def test_a_stage_has_no_stages_of_its_own_and_a_model_reads_the_graph_of_its_row(
    in_folder: Path, doubling: Doubling
) -> None:
    (in_folder / "pipe.py").write_text(
        "inner = {'a': len}\nstages = {'first': lambda cell: inner}\nmodel = {'m': 'doubling'}\n"
    )
    with pytest.raises(IrbenchError, match="first"):
        opened("pipe.py:stages")
    doubling.consumes = ("tf-graph",)
    with pytest.raises(IrbenchError, match="onnx"):
        opened("pipe.py:model")


def test_a_function_that_generates_is_told_how_many_tokens_and_returns_them_with_or_without_the_prompt(
    in_folder: Path,
) -> None:
    (in_folder / "texts.py").write_text(
        "import numpy\n"
        "def load(cell):\n"
        "    assert cell.outputs == ('tokens',) and cell.shapes == {'ids': (2, 3)}\n"
        "    new = numpy.full((cell.batch, cell.new_tokens), 7)\n"
        "    return lambda inputs: numpy.concatenate([inputs['ids'], new], axis=1)\n"
        "def named(inputs):\n"
        "    return {'tokens': numpy.full((2, 4), 7)}\n"
        "def short(inputs):\n"
        "    return numpy.full((2, 3), 7)\n"
        "def nothing(inputs): pass\n"
    )
    for name in ("load", "named"):
        session = opened(f"texts:{name}", artifact=generation(4))
        (slot,) = session.open_slots(1, "bound")
        (tokens,) = infer(slot, (PROMPT,))
        assert tokens.tolist() == [[7] * 4] * 2
        assert session.effective["new_tokens"] == 4
    for name, said in (("short", "int64 of shape 2x3"), ("nothing", "returned nothing")):
        (slot,) = opened(f"texts:{name}", artifact=generation(4)).open_slots(1, "copy")
        with pytest.raises(IrbenchError, match=said):
            infer(slot, (PROMPT,))


def test_a_stage_that_is_a_decoder_generates(
    in_folder: Path, doubling: Doubling, monkeypatch: pytest.MonkeyPatch
) -> None:
    def next_token() -> Any:
        ids = doubling.feed[0]
        return np.eye(10, dtype=np.float32)[(ids + 1) % 10], doubling.feed[1]

    monkeypatch.setattr(doubling, "fetch", next_token)
    (in_folder / "texts.py").write_text(
        "stages = {'read': lambda inputs: inputs['ids'], 'model': 'doubling', 'write': lambda outputs: outputs[0]}\n"
    )
    session = opened("texts:stages", artifact=generation(3))
    (slot,) = session.open_slots(1, "copy")
    (tokens,) = infer(slot, (PROMPT,))
    assert tokens.tolist() == [[4, 5, 6], [7, 8, 9]]
    assert part_names([slot]) == ("read", "model", "write")
