"""Data sets as the ONNX convention has them, and ONNX's test suite written as such files.

Data sets are ``test_data_set_*/input_*.pb`` and ``output_*.pb``. They may come from anywhere: read them in a worker.

The suite is the models and data that the ``onnx`` package carries or generates. Generating the cases of single
operators runs hundreds of small NumPy programs: do it in a worker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irbench.errors import IrbenchError, first_line
from irbench.features.verify.case import Case
from irbench.onnx.reading.tensor_file import tensor_of_file
from irbench.system.file_access import open_regular
from irbench.system.file_states import is_file

if TYPE_CHECKING:
    import onnx
    from onnx.backend.test.case.test_case import TestCase

_CONVENTION = "A folder of data holds test_data_set_0/input_0.pb, output_0.pb and so on."
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class DataSet:
    """Inputs and the outputs that they must lead to.

    Attributes:
        inputs: One array for each input of the model, in the model's order.
        outputs: One array for each output, likewise; a list of arrays where the output is a sequence.
    """

    name: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


def read_for_model(folder: Path, inputs: int, outputs: int, most_bytes: int) -> tuple[DataSet, ...]:
    """Read every data set of a model whose inputs and outputs are tensors."""
    files = (file for place in _sets_in(folder) for file in place.glob("*put_*.pb"))
    size_bytes = sum(file.stat().st_size for file in files if is_file(file))
    if size_bytes > most_bytes:
        raise IrbenchError(
            f"The data sets in {folder} have {size_bytes / 1e9:.1f} GB, and {most_bytes / 1e9:.1f} GB of memory are "
            "left for data.",
            hint="Give fewer of them.",
        )
    return read_sets(folder, ("tensor_type",) * inputs, ("tensor_type",) * outputs)


def read_sets(folder: Path, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[DataSet, ...]:
    """Read every data set in a folder, in the order of their numbers.

    Args:
        folder: Holds ``test_data_set_*``, or is one.
        inputs: What each input of the model holds, ``tensor_type`` or ``sequence_type``.
        outputs: Likewise for its outputs.
    """
    return tuple(
        DataSet(place.name, _values(place, "input", inputs), _values(place, "output", outputs))
        for place in _sets_in(folder)
    )


def _sets_in(folder: Path) -> list[Path]:
    found = [folder] if any(folder.glob("output_*.pb")) else _numbered(folder, "test_data_set_*")
    if not found:
        raise IrbenchError(f"{folder} contains no data set.", hint=_CONVENTION)
    return found


def kind_of(value: onnx.ValueInfoProto) -> str:
    """Return what a value holds, ``tensor_type`` for example; of an optional, what is in it."""
    held = value.type.optional_type.elem_type if value.type.HasField("optional_type") else value.type
    return str(held.WhichOneof("value"))


def _values(folder: Path, role: str, kinds: Sequence[str]) -> tuple[Any, ...]:
    files = _numbered(folder, f"{role}_*.pb")
    if len(files) != len(kinds):
        raise IrbenchError(
            f"{folder} contains {len(files)} {role}s, and the model has {len(kinds)}.",
            hint=f"{_CONVENTION} Every {role} of the model needs one, in the model's order.",
        )
    return tuple(_value(file, kind) for file, kind in zip(files, kinds, strict=True))


def _value(file: Path, kind: str) -> Any:
    return _sequence(file) if kind == "sequence_type" else tensor_of_file(file)


def _sequence(file: Path) -> list[Any]:
    import onnx
    from onnx import numpy_helper

    message = onnx.SequenceProto()
    try:
        with open_regular(file) as stored:
            message.ParseFromString(stored.read())
        return numpy_helper.to_list(message)
    except Exception as error:
        raise IrbenchError(
            f"{file} contains no readable tensor: {first_line(error)}", hint="Download or create it again."
        ) from error


def _numbered(folder: Path, pattern: str) -> list[Path]:
    """Return what is named so, by number: 10 comes after 9."""
    return sorted(folder.glob(pattern), key=lambda path: [int(number) for number in _NUMBER.findall(path.name)])


_KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
_EXPANDED = "_expanded"
_COMPARED = ("tensor_type", "sequence_type")


def collect(folder: Path, pattern: str) -> tuple[Case, ...]:
    """Write what is not yet a file into ``folder`` and return the cases whose names match a pattern."""
    from onnx.backend.test.loader import load_model_tests

    found: list[Case] = []
    for kind in _KINDS:
        tests = sorted(load_model_tests(kind=kind), key=lambda test: test.name)
        operators = _operators(tests) if kind == "node" else {}
        chosen = (test for test in tests if fnmatchcase(test.name, pattern))
        found += [_case(test, folder / test.name, operators) for test in chosen]
    return tuple(found)


def operator_of(graph: onnx.GraphProto) -> str:
    """Return the one operator that a graph is made of, constants aside; ``several`` where it has more."""
    names = {f"{node.domain}.{node.op_type}".lstrip(".") for node in graph.node if node.op_type != "Constant"}
    return names.pop() if len(names) == 1 else "several"


def unfit(graph: onnx.GraphProto) -> str:
    """Return why irbench cannot feed or compare a model, which takes tensors and gives tensors or sequences of them."""
    strange = [("input", tensor) for tensor in graph.input if not tensor.type.HasField("tensor_type")]
    strange += [("output", tensor) for tensor in graph.output if kind_of(tensor) not in _COMPARED]
    for role, value in strange:
        held = str(value.type.WhichOneof("value")).removesuffix("_type")
        return f"its {role} '{value.name}' is no tensor: {held}"
    return ""


def _operators(tests: Sequence[TestCase]) -> Mapping[str, str]:
    """Return the operator of each case; of one that spells out a function's body, that of the function."""
    names = {test.name: operator_of(test.model.graph) for test in tests if test.model is not None}
    return {name: names.get(name.split(_EXPANDED)[0], own) for name, own in names.items()}


def _case(test: TestCase, folder: Path, operators: Mapping[str, str]) -> Case:
    import onnx

    model = folder / "model.onnx"
    case = Case(test.name, test.kind, "", model, folder, test.rtol, test.atol)
    if test.model is not None:
        folder.mkdir(parents=True)
        model.write_bytes(test.model.SerializeToString())
    elif test.model_dir is not None:
        case = replace(case, model=Path(test.model_dir) / "model.onnx", data=Path(test.model_dir))
    else:
        case = replace(case, model=_package_file(str(test.url)))
        _write_light_data(case)
    graph = onnx.load(case.model).graph
    case = replace(case, operator=operators.get(test.name) or operator_of(graph), skip=unfit(graph))
    if any(tensor is None for _, outputs in test.data_sets or () for tensor in outputs):
        case = replace(case, skip="one of its outputs is an optional that holds nothing")
    if test.data_sets is not None and not case.skip:
        for number, (inputs, outputs) in enumerate(test.data_sets):
            _write_set(case.data / f"test_data_set_{number}", inputs, outputs)
    return case


def _package_file(url: str) -> Path:
    """Return the path of a file that the suite names as a repository has it, ``onnx/backend/test/data/...``."""
    import onnx

    return Path(onnx.__file__).parent.parent / url


def _write_light_data(case: Case) -> None:
    """Write the inputs of a network without weights as ONNX's own runner makes them, beside its expected output."""
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.runner import Runner

    graph = onnx.load(case.model).graph
    weights = {initializer.name for initializer in graph.initializer}
    inputs = [Runner.generate_dummy_data(tensor) for tensor in graph.input if tensor.name not in weights]
    expected = case.model.with_name(f"{case.model.stem}_output_0.pb").read_bytes()
    _write_set(case.data / "test_data_set_0", inputs, [numpy_helper.to_array(onnx.TensorProto.FromString(expected))])


def _write_set(folder: Path, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    folder.mkdir(parents=True)
    for role, values in (("input", inputs), ("output", outputs)):
        for number, message in enumerate(_messages(values)):
            (folder / f"{role}_{number}.pb").write_bytes(message.SerializeToString())


def _messages(values: Sequence[Any]) -> Iterator[onnx.TensorProto | onnx.SequenceProto]:
    import numpy as np
    import onnx
    from onnx import numpy_helper

    for value in values:
        if isinstance(value, onnx.TensorProto):  # of a type that NumPy lacks
            yield value
        elif isinstance(value, list | tuple):
            yield numpy_helper.from_list([np.asarray(element) for element in value])
        else:
            yield numpy_helper.from_array(np.asarray(value))
