"""The forms that values of options have, each read from the command line, Python and plans by one function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, get_args

from irbench.errors import IrbenchError
from irbench.options import conditions, own_code, values
from irbench.options import input_request as asked_inputs
from irbench.options.values import run_name
from irbench.perf_events.event_names import parse_counters
from irbench.spec import AskedObjective, Io, Precision, shape_text

T = TypeVar("T")


_SECONDS = "str | float | timedelta"
_NUMBERS = "str | int | Iterable[int]"
_NAMES = "str | Iterable[str]"


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, eq=False)
class Kind(Generic[T]):
    """The form of an option's values.

    Attributes:
        example: As Python writes it.
        given: What Python may give, as an annotation.
        read: Returns the value of that, or of a text; raises ``ValueError`` or ``TypeError`` with what is wrong.
        metavar: As the command line writes it: an example, which refusals show, and its help without a placeholder.
        placeholder: What the help shows in place of the example: capitals for names, N for numbers.
        words: Of which it is one; empty for any value.
        type_name: What the command line knows a type of its own by, or what a shell offers.
        arguments: How many words of the command line make a value.
        text: Reads the text of the command line, where that must say more than Python's value.
        entry: Reads one of several ``name=value`` texts; ``None`` where the option is given once.
        collect: Returns the value that the entries make, given the option's flag.
        written: Returns the value as a plan has it, which ``read`` reads again.
    """

    example: str
    given: str
    read: Callable[[Any], T]
    metavar: str = ""
    placeholder: str = ""
    words: tuple[str, ...] = ()
    type_name: str = ""
    arguments: int = 1
    text: Callable[[str], T] | None = None
    entry: Callable[[str], Any] | None = None
    collect: Callable[[str, Iterable[Any]], T] | None = None
    written: Callable[[Any], Any] = _as_it_is

    @property
    def is_flag(self) -> bool:
        """Whether it is true where it is given, and false otherwise."""
        return self.read is values.flag

    def on_command_line(self, value: T) -> Iterator[str]:
        """Yield what the command line has for a value: one word for each time that the option is given."""
        written = self.written(value)
        if self.text is not None:
            seconds: Any = value
            yield f"{1e3 * seconds:.12g}ms" if seconds < 1 else f"{seconds:.12g}s"
        elif self.entry is None:
            yield str(written).removesuffix(".0") if isinstance(written, float) else _listed(written)
        elif isinstance(written, Mapping):
            for name, item in written.items():
                if isinstance(item, Mapping):
                    yield from (f"{name}.{key}={_listed(of_key)}" for key, of_key in item.items())
                else:
                    yield f"{name}={_listed(item)}"
        else:
            yield from map(_listed, written)


def _listed(written: Any) -> str:
    return ",".join(map(str, written)) if isinstance(written, list | tuple) else str(written)


def one_of(literal: Any) -> Kind[Any]:
    """Return the kind of one word of a ``Literal``, or of several words."""
    words = tuple(get_args(literal) or literal)
    quoted = [f'"{word}"' for word in words]
    return Kind(
        " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]])),
        f"Literal[{', '.join(quoted)}]",
        values.one_of(*words),
        words=words,
    )


def some_of(literal: Any) -> Kind[Any]:
    """Return the kind of several words of a ``Literal``."""
    words = get_args(literal)
    example = "[" + ", ".join(f'"{word}"' for word in words[:2]) + "]"
    return Kind(example, _NAMES, values.some_of(*words), ",".join(words[:2]), written=list)


def counts_or(word: str, example: str, least: int = 0) -> Kind[Any]:
    """Return the kind of several whole numbers, or a word in place of one."""
    given = "str | int | Iterable[str | int]"
    return Kind(f'"{example}"', given, values.counts_or(word, least), example, f"N,...|{word}", written=list)


def text(example: str, metavar: str, type_name: str = "") -> Kind[str]:
    """Return the kind of a text."""
    return Kind(example, "str", values.text, metavar, type_name=type_name)


def _with_unit(read: Callable[[str], float]) -> Callable[[str], float]:
    """Return what reads a time on the command line, where a number alone could be milliseconds, seconds or minutes."""

    def checked(text: str) -> float:
        if text.replace(".", "", 1).isdigit():
            raise ValueError(f"{text!r} has no unit")
        return read(text)

    return checked


def _contradiction(flag: str, name: str, first: str, second: str, remedy: str) -> IrbenchError:
    return IrbenchError(f"{flag} {name}={first} and {flag} {name}={second} cannot be combined.", hint=remedy)


def _by_name(
    written: Callable[[Any], str], remedy: str = "Leave one of them out."
) -> Callable[[str, Iterable[Any]], dict[str, Any]]:
    """Return what collects values by name; ``written`` writes one as the user did.

    What it returns raises :class:`IrbenchError` where a name is given two values.
    """

    def collect(flag: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        values_by_name: dict[str, Any] = {}
        for name, value in pairs:
            before = values_by_name.setdefault(name, value)
            if before != value:
                raise _contradiction(flag, name, written(before), written(value), remedy)
        return values_by_name

    return collect


def _by_backend(written: Callable[[Any], str]) -> Callable[[str, Iterable[Any]], dict[str, dict[str, Any]]]:
    """Return what collects values by backend, then by key; refuses two values of one key as :func:`_by_name` does."""
    collect_keys = _by_name(written)

    def collect(flag: str, triples: Iterable[tuple[str, str, Any]]) -> dict[str, dict[str, Any]]:
        flat = collect_keys(flag, ((f"{backend}.{key}", value) for backend, key, value in triples))
        settings: dict[str, dict[str, Any]] = {}
        for address, value in flat.items():
            backend, _, key = address.partition(".")
            settings.setdefault(backend, {})[key] = value
        return settings

    return collect


def _inputs_by_output(flag: str, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    outputs: dict[str, str] = {}
    for output, name in pairs:
        before = outputs.setdefault(name, output)
        if before != output:
            raise IrbenchError(
                f"{flag} {before}={name} and {flag} {output}={name} cannot be combined.", hint="Leave one of them out."
            )
    return outputs


def _sweep_text(sweep: values.Sweep) -> str:
    name, shapes = sweep
    texts = ",".join(map(shape_text, shapes))
    return f"{name}={texts}" if name else texts


FLAG = Kind("True", "bool", values.flag)
NAME = text('"before"', "NAME")
NOTE = text('"without the patch"', "TEXT")
NAMES = Kind('["ort-cpu-fp32-x1"]', _NAMES, values.names, "a,b", written=list, placeholder="NAME,...")
OUTPUTS = Kind('["label"]', _NAMES, values.names, "a,b", written=list, placeholder="OUTPUT,...")
MODULES = Kind(
    '["my_layers"]', _NAMES, values.names, "MODULE",
    entry=values.text, collect=lambda _flag, entries: tuple(entries), written=list,
)  # fmt: skip
ROW = text('"ort@streams=1"', "ROW")
LEVEL = text('"extended"', "LEVEL", "level")
BACKEND = text('"ort"', "BACKEND", "backend")
BACKENDS = Kind(
    '["ort", "openvino:gpu"]',
    _NAMES,
    values.names,
    "a,b",
    type_name="backends",
    written=list,
    placeholder="BACKEND,...",
)
LEVELS = Kind(
    '["none", "int8"]', _NAMES, values.names, "a,b", type_name="levels", written=list, placeholder="LEVEL,..."
)
PRECISIONS = Kind(
    '["fp32", "bf16"]', _NAMES, values.names, "a,b", type_name="precisions", written=list, placeholder="PRECISION,..."
)
PRECISION = one_of(Precision)
OBJECTIVE = one_of(AskedObjective)
IO = one_of(Io)
COUNT = Kind("20", "str | int", values.count, "20", placeholder="N")
BATCH = Kind("8", "str | int", values.count, "8", placeholder="N")
OPSET = Kind("18", "str | int", values.count, "18", placeholder="N")
COUNTS = Kind("[1, 8]", _NUMBERS, values.counts, "1,8", written=list, placeholder="N,...")
THREADS = Kind('4, or "native"', "str | int", values.threads, "4|native", placeholder="N|native")
THREAD_COUNTS = Kind(
    '[1, 4], or "native"',
    "str | int | Iterable[int | str]",
    values.thread_counts,
    "1,4|native",
    written=list,
    placeholder="N,...|native",
)
CPUS = Kind('[0, 1], or "0-3,8"', _NUMBERS, values.cpus, "0-3,8", written=values.cpu_list, placeholder="N-N,...")
SEED = Kind("0", "int", values.seed, "N", type_name="seed")
SHARE = Kind('"2%", or 0.02', "str | float", values.fraction, "1%", written=values.percentage, placeholder="N%")
ACCURACY = Kind('"99%", or 0.99', "str | float", own_code.min_accuracy, "99%", placeholder="N%")
METRIC = Kind(
    '"file.py:fn>=0.9", or (my_function, ">=0.9")',
    "OwnMetric",
    own_code.metric,
    "file.py:fn>=0.9",
    written=own_code.metric_text,
    placeholder="FILE.py:FUNCTION>=N",
)
DURATION = Kind(
    '"90s", or 90', _SECONDS, values.duration_s, "90s|5m", text=_with_unit(values.duration_s), placeholder="Ns|Nm"
)  # fmt: skip
LATENCY = Kind(
    '"50ms", or 0.05', _SECONDS, values.duration_s, "50ms", text=_with_unit(values.duration_s), placeholder="Nms"
)
PACE = Kind('"10ms", or 0.01', _SECONDS, values.pace_s, "10ms", text=_with_unit(values.pace_s), placeholder="Nms")
STEP = Kind(
    '"100ms", or 0.1', _SECONDS, values.timeline_s, "100ms", text=_with_unit(values.timeline_s), placeholder="Nms"
)
WARM_UP = Kind(
    '"2s", or 500 for calls', "str | int | timedelta", values.warm_up, "2s|500", written=str, placeholder="Ns|N"
)
COUNTERS = Kind(
    '"software", or ["cache", "branch"]',
    _NAMES,
    parse_counters,
    "a,b",
    type_name="counters",
    written=list,
    placeholder="COUNTER,...",
)
PATH = Kind('"./data"', "str | PathLike[str]", values.path, "PATH", type_name="path")
FOLDER = Kind('"./results"', "str | PathLike[str]", values.path, "DIR", type_name="folder")
DATA = Kind('"speech/", or {"x": array}', "Data", asked_inputs.data, "PATH", type_name="path", written=str)
RATES = Kind("[10, 50]", "str | float | Iterable[float]", values.rates, "10,50", written=list, placeholder="N,...")
SERVICE_LEVEL = Kind(
    '"p99<=50ms"', "str", values.service_level, "p99:50ms",
    written=lambda level: f"p{level.percentile:g}<={level.limit_ms:g}ms",
    placeholder="pN:Nms",
)  # fmt: skip
SWEEP = Kind(
    '{"tokens": [(1, 128), (1, 64)]}',
    "str | Mapping[str, str | Iterable[Any]] | Iterable[Any]",
    values.sweep,
    "1x128,1x64",
    written=_sweep_text,
    placeholder="NxN,...",
)
SHAPES = Kind(
    '{"tokens": (1, 128)}', "Mapping[str, str | int | Iterable[int]]", values.shapes, "name=1x128",
    entry=values.shape_of_text,
    collect=_by_name(
        shape_text, "Leave one of them out; irbench run --shapes NAME=SIZE,SIZE measures a table for each."
    ),
    written=lambda value: {name: shape_text(sizes) for name, sizes in value.items()},
    placeholder="NAME=NxN",
)  # fmt: skip
CONSTANTS = Kind(
    '{"sr": 16000}', "Mapping[str, Any]", asked_inputs.constants, "name=16000",
    entry=values.value_of_text, collect=_by_name(lambda elements: ",".join(map(str, elements))),
    written=lambda value: {name: list(elements) for name, elements in value.items()},
    placeholder="NAME=VALUE",
)  # fmt: skip
FEEDBACK = Kind(
    '{"h": "h0"}', "Mapping[str, str]", asked_inputs.feedback, "output=input",
    entry=values.feedback_of_text, collect=_inputs_by_output,
    written=lambda names: {own: name for name, own in names.items()},
    placeholder="OUTPUT=INPUT",
)  # fmt: skip
CELLS = Kind(
    '{"mine": my_function}, {"mine": {"decode": decode, "model": "ort"}}, or {"mine": "./loop {model}"}',
    "OwnCells", own_code.cells, "name=command",
    entry=own_code.cell_of_text, collect=_by_name(own_code.program_text),
    written=lambda value: {name: own_code.program_text(program) for name, program in value.items()},
    placeholder="NAME=CODE",
)  # fmt: skip
SETTINGS = Kind(
    '{"ort": {"dynamic_block_base": 4}}', "Mapping[str, Mapping[str, object]]", values.settings, "backend.KEY=VALUE",
    type_name="settings", entry=values.setting_of_text, collect=_by_backend(str),
    written=lambda sets: {backend: dict(settings) for backend, settings in sets.items()},
    placeholder="BACKEND.KEY=VALUE",
)  # fmt: skip
VARIED = Kind(
    '{"ort": {"intra_op.allow_spinning": [0, 1]}}', "Mapping[str, Mapping[str, Iterable[object]]]",
    values.varied, "backend.KEY=A,B",
    type_name="settings", entry=values.varied_of_text, collect=_by_backend(",".join),
    written=lambda sets: {
        backend: {key: list(each) for key, each in settings.items()} for backend, settings in sets.items()
    },
    placeholder="BACKEND.KEY=A,B",
)  # fmt: skip
LEVEL_PAIR = Kind('"graph+extended"', "str", values.compared_levels, "graph+extended", placeholder="LEVEL+LEVEL")
POSITIVE = Kind("1000", "float", values.positive, "NUMBER", type_name="positive")
FILE = Kind('"better.onnx"', "str | PathLike[str]", values.path, "FILE", type_name="file")
PASSES = Kind(
    '["fold_shapes", "remove_redundant"]',
    _NAMES,
    values.ordered_names,
    "a,b",
    type_name="passes",
    written=list,
    placeholder="PASS,...",
)
PAIR = Kind('("onnxruntime==1.22.0", "onnxruntime==1.23.2")', "tuple[str, str]", values.pair, "A B", arguments=2)
MODEL_NAME = text('"resnet50"', "MODEL", "model")
RUN = Kind('"v1.0"', "RunName", run_name, "RUN", type_name="run")
CONDITIONS = Kind(
    '["p50>5%", "fps<-3%"]', _NAMES, conditions.conditions, "p50:5%",
    entry=conditions.read_condition, collect=lambda _flag, entries: tuple(entries),
    placeholder="FIGURE:N%",
)  # fmt: skip
SELECTORS = Kind(
    '"batch=8,backends=ort"', _NAMES, values.texts, "KEY=VALUE",
    entry=values.text, collect=lambda _flag, entries: tuple(entries),
)  # fmt: skip
SINGLE: Mapping[Kind[Any], Kind[Any]] = {
    COUNTS: replace(COUNTS, example="8", given="str | int", metavar="8", placeholder="N"),
    THREAD_COUNTS: replace(
        THREAD_COUNTS,
        example=THREADS.example,
        given=THREADS.given,
        metavar=THREADS.metavar,
        placeholder=THREADS.placeholder,
    ),
    PRECISIONS: replace(PRECISIONS, example='"fp32"', given="str", metavar="fp32", placeholder="PRECISION"),
}
"""Kinds of lists, as commands show them that take one value of the list."""
