"""The program of a row: Python that runs a model with exactly the settings that were measured, without irbench.

Every program has the same names, whatever runs the model, so that ``check.py`` can run any of them::

    INPUTS, OUTPUTS         the inputs by name, each with its type and shape, and the names of the outputs
    open_model()            returns the model, compiled
    Caller(model)           has stage(inputs), run() and fetch(), for one inference at a time
    run_all(model, batches) returns the outputs of many inputs; only where several inferences were in flight
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from irbench.core import registry
from irbench.core.plain_text import plain
from irbench.errors import IrbenchError
from irbench.programs import image_program
from irbench.programs.decoder_program import decoder_caller, named_graphs
from irbench.programs.image_program import ImageReading
from irbench.spec import Cell, Load, TensorSpec
from irbench.spec.generation import GenerationArtifact, GenerationGraph
from irbench.spi import Refusal, Usage, UsageWriter, UsedModel

INFER_FILE = "infer.py"
GRAPH_FOLDER = "model"
_GRAPH_FILES = {"onnx": "model.onnx", "tf-graph": "graph.pb"}
_WIDTH = 110

_CALL = '''\
def call(caller, inputs):
    """Run one inference, and return its outputs: arrays in the order of OUTPUTS."""
    caller.stage(inputs)
    caller.run()
    return caller.fetch()'''

_RUN_ALL = '''\
def run_all(model, batches):
    """Return the outputs of many inputs, in their order, with {streams} in flight: each thread has a caller."""
    outputs = [None] * len(batches)
    places = iter(range(len(batches)))  # which all threads share

    def work():
        caller = Caller(model)
        for place in places:
            outputs[place] = call(caller, batches[place])

    with ThreadPoolExecutor({streams}) as threads:
        for worker in [threads.submit(work) for _ in range({streams})]:
            worker.result()
    return outputs'''

_PROCESSES = '''\
PROCESSORS = {processors!r}  # of each process


def start(shares):
    """Pin a new process to its processors, and compile the model in it."""
    global model
    os.sched_setaffinity(0, shares.get())
    model = compile_model()


def work(batches):
    """Return the outputs of the inputs that are this process's share."""
    {work}


def open_model():
    """Return {instances} processes, each with the model and with processors of its own."""
    context = multiprocessing.get_context("spawn")
    shares = context.Queue()
    for share in PROCESSORS:
        shares.put(share)
    return ProcessPoolExecutor({instances}, context, start, (shares,))


def run_all(model, batches):
    """Return the outputs of many inputs, in their order; every {instances}th is one process's."""
    outputs = [None] * len(batches)
    parts = model.map(work, [batches[place::{instances}] for place in range({instances})])
    for place, part in enumerate(parts):
        outputs[place::{instances}] = part
    return outputs'''

_EXAMPLE = '''\
def example():
    """Return inputs of the right types and shapes, all zeros; put your own in their place."""
    return {name: numpy.zeros(shape, dtype) for name, (dtype, shape) in INPUTS.items()}'''

_MAIN = """\
def main():
    model = open_model()
{body}
    for name, output in zip(OUTPUTS, outputs):
        print(f"{{name}}: {{output.dtype}} {{output.shape}}")


if __name__ == "__main__":
    main()"""

_ONE_AT_A_TIME = """\
caller = Caller(model)
call(caller, example())  # the first call is slower than all others
started = time.perf_counter()
outputs = call(caller, example())
print(f"{1e3 * (time.perf_counter() - started):.3f} ms")"""

_MANY_AT_A_TIME = """\
batches = [example()] * {calls}
run_all(model, batches)  # the first calls are slower than all others
started = time.perf_counter()
outputs = run_all(model, batches)[0]
print(f"{{len(batches) / (time.perf_counter() - started):.1f}} calls per second")"""


@dataclass(frozen=True)
class ProgramHeading:
    """The docstring of a program.

    Attributes:
        title: What it runs, in a sentence.
        facts: With which settings, and where they come from, in sentences.
    """

    title: str
    facts: tuple[str, ...] = ()


def graph_places(cell: Cell) -> dict[str, GenerationGraph | None]:
    """Return where the program of a row looks for its graphs, relative to itself.

    Returns:
        The places, each with the graph of a generation that it is; ``None`` where a call is a single inference.
    """
    artifact = cell.artifact
    if artifact is None:
        return {}
    name = _GRAPH_FILES.get(artifact.kind, artifact.path.name)
    if not isinstance(artifact, GenerationArtifact):
        return {f"{GRAPH_FOLDER}/{name}": None}
    graphs = named_graphs(artifact)
    if len(graphs) == 1:
        return {f"{GRAPH_FOLDER}/{name}": artifact.step}
    return {f"{GRAPH_FOLDER}/{part}/{name}": graph for part, graph in graphs.items()}


def row_program(
    cell: Cell,
    batch: int,
    heading: ProgramHeading,
    processors: Sequence[Sequence[int]] = (),
    images: ImageReading | None = None,
) -> str:
    """Return the program of a row that a backend runs.

    Args:
        cell: The row.
        batch: Samples of each call.
        heading: Its docstring.
        processors: Those of each of its processes, where it runs in several.
        images: How images became its inputs; ``None`` where it was given something else.

    Raises:
        IrbenchError: Its backend does not tell how its runtime is used, or not for such a row.
    """
    backend, artifact = registry.backend(cell.backend), cell.artifact
    if artifact is None or not isinstance(backend, UsageWriter):
        raise IrbenchError(
            f"The backend {cell.backend} does not tell how its runtime is used without irbench.",
            hint="Choose a row of another backend.",
        )
    try:
        if isinstance(artifact, GenerationArtifact):
            _require_passed_caches(cell)
            usages = {
                name: backend.usage(
                    UsedModel(graph.artifact.inputs, graph.artifact.outputs, cell.io), cell.load, cell.device
                )
                for name, graph in named_graphs(artifact).items()
            }
            parts, usage = tuple(_generation(cell, artifact, usages, batch)), usages["step"]
        else:
            usage = backend.usage(UsedModel(artifact.inputs, artifact.outputs, cell.io), cell.load, cell.device)
            parts = tuple(_inference(cell, usage))
    except Refusal as refusal:
        raise IrbenchError(f"There is no program for {cell.label}: {refusal.message}", hint=refusal.hint) from refusal
    queues = bool(usage.run_all) and not isinstance(artifact, GenerationArtifact)
    parts += tuple(_concurrency(cell.load, usage.run_all if queues else "", processors))
    imports = () if images is None else image_program.IMPORTS
    head = (docstring(heading), _preamble(cell.load, usage, imports, has_own_queue=queues), tensors(cell))
    return "\n\n".join((*head, "\n" + "\n\n\n".join((*parts, *_main(cell.load, images))))) + "\n"


def _require_passed_caches(cell: Cell) -> None:
    if cell.io == "bound":
        raise Refusal(
            "its runtime kept the caches between calls, and programs pass them from call to call.",
            hint="Measure it with `--io copy`, the default, and deploy that row.",
        )


def _inference(cell: Cell, usage: Usage) -> Iterator[str]:
    (place,) = graph_places(cell)
    yield usage.load
    yield _compile(f"return load({path_text(place)})", cell.load)
    yield usage.caller
    yield _CALL


def _generation(cell: Cell, artifact: GenerationArtifact, usages: Mapping[str, Usage], batch: int) -> Iterator[str]:
    """Yield the parts of a program that generates: a function that loads each graph, and the loop that calls them."""
    loaded: list[str] = []
    for (name, usage), place in zip(usages.items(), graph_places(cell), strict=True):
        yield usage.load.replace("def load(", f"def load_{name}(", 1)
        loaded.append(f"{name!r}: load_{name}({path_text(place)}),")
    for name, usage in usages.items():
        yield usage.caller.replace("class Caller:", f"class {_caller_of(name)}:", 1)
    lines = textwrap.indent("\n".join(loaded), "    ")
    yield _compile(f"return {{\n{lines}\n}}", cell.load)
    yield _CALL
    yield decoder_caller(artifact, {name: _caller_of(name) for name in usages}, batch)


def _caller_of(graph: str) -> str:
    return f"{graph.title()}Caller"


def path_text(place: str) -> str:
    """Return the expression of a program for a place in its folder."""
    return " / ".join(("FOLDER", *(f'"{part}"' for part in place.split("/"))))


def _compile(body: str, load: Load) -> str:
    name = "open_model" if load.instances == 1 else "compile_model"
    return f'def {name}():\n    """Return the model, compiled."""\n{textwrap.indent(body, "    ")}'


def run_all_text(streams: int) -> str:
    """Return the function of a program that runs many inferences in so many threads."""
    return _RUN_ALL.format(streams=streams)


def _concurrency(load: Load, run_all: str, processors: Sequence[Sequence[int]]) -> Iterator[str]:
    """Yield what runs several inferences at a time: in the runtime's queue or in threads, and in processes."""
    if load.streams > 1:
        queue = run_all or run_all_text(load.streams)
        yield queue if load.instances == 1 else queue.replace("def run_all(", "def run_part(", 1)
    if load.instances > 1:
        work = "return run_part(model, batches)"
        if load.streams == 1:
            work = "caller = Caller(model)\n    return [call(caller, inputs) for inputs in batches]"
        shares = [set(share) for share in processors]
        yield _PROCESSES.format(processors=shares, instances=load.instances, work=work)


def docstring(heading: ProgramHeading) -> str:
    """Return the docstring of a program."""
    facts = [line for fact in heading.facts for line in textwrap.wrap(_quoted(fact), _WIDTH)]
    return "\n".join((f'"""{_quoted(heading.title)}', *(("", *facts) if facts else ()), '"""'))


def _quoted(text: str) -> str:
    """Return a text that cannot end a docstring, whatever a model or a run is called."""
    return plain(text).replace("\\", "\\\\").replace('"', "'")


def _preamble(load: Load, usage: Usage, others: Sequence[str], *, has_own_queue: bool) -> str:
    """Return the imports, behind all that must be set before them."""
    variables = {**_thread_variables(load.threads), **usage.environment}
    settings: list[str] = []
    if variables:
        lines = (f"    {name!r}: {value!r}," for name, value in variables.items())
        settings += ["os.environ.update({  # before the runtime is imported", *lines, "})"]
    if load.cpus is not None and load.instances == 1:
        settings += [f"os.sched_setaffinity(0, {set(load.cpus)!r})  # the processors that were measured"]
    imports = {"import time", "from pathlib import Path", "import numpy", *others, *usage.imports.split("\n")} - {""}
    if load.streams > 1 and not has_own_queue:
        imports |= {"from concurrent.futures import ThreadPoolExecutor"}
    if load.instances > 1:
        imports |= {"import os", "import multiprocessing", "from concurrent.futures import ProcessPoolExecutor"}
    if settings:
        imports -= {"import os"}
        settings = ["import os", "", *settings, ""]
    return "\n".join((*settings, *_sorted(imports), "", "FOLDER = Path(__file__).resolve().parent"))


def _thread_variables(threads: int | None) -> dict[str, str]:
    """Return the variables that keep libraries which size their own pools within the threads of the row."""
    return {} if threads is None else {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}


def _sorted(imports: set[str]) -> Iterator[str]:
    """Yield imports in the usual order: Python's own modules, then those of others."""
    own = {line for line in imports if line.split()[1].partition(".")[0] in sys.stdlib_module_names}
    for group in (own, imports - own):
        yield from sorted(group, key=lambda line: (line.startswith("from"), line))
        if group is own:
            yield ""


def tensors(cell: Cell) -> str:
    """Return the lines of a program that name its inputs and outputs."""
    assert cell.artifact is not None
    inputs = [f"    {spec.name!r}: ({spec.dtype!r}, {_shape(spec)})," for spec in cell.artifact.inputs]
    outputs = ("tokens",) if isinstance(cell.artifact, GenerationArtifact) else _names(cell.artifact.outputs)
    return "\n".join(("INPUTS = {", *inputs, "}", f"OUTPUTS = {outputs!r}"))


def _shape(spec: TensorSpec) -> str:
    return repr(tuple(spec.shape))


def _names(specs: Sequence[TensorSpec]) -> tuple[str, ...]:
    return tuple(spec.name for spec in specs)


def _main(load: Load, images: ImageReading | None) -> Iterator[str]:
    is_single = load.concurrency == 1
    body = _ONE_AT_A_TIME if is_single else _MANY_AT_A_TIME.format(calls=8 * load.concurrency)
    yield _EXAMPLE
    if images is not None:
        yield images.functions(several=not is_single)
        body = f"if sys.argv[1:]:\n    return show_images(model, sys.argv[1:])\n{body}"
    yield _MAIN.format(body=textwrap.indent(body, "    "))
