"""ONNX files that irbench did not write, and what to say of a name or file that no exporter takes."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from irbench.core import registry
from irbench.core.suggestions import did_you_mean, nearest
from irbench.errors import IrbenchError
from irbench.exporter.source import Source, makers
from irbench.onnx.reading.element_types import STRING
from irbench.onnx.reading.protobuf import require_model_file
from irbench.spec import (
    BATCH_IN_FILE,
    RANDOM_DRAWS,
    RANDOM_SWITCH,
    RANDOM_SWITCH_OFF,
    Artifact,
    Bundle,
    InputSpec,
    TensorSpec,
    is_named_as_mask,
    is_named_as_padding,
)
from irbench.store import bundles
from irbench.system import host
from irbench.system.file_states import exists, is_file
from irbench.worker.model_files import examine_file

_WEIGHTS = "Load them in a function that returns (module, example_inputs), and name it: irbench run file.py:function"
_ONNX_ITSELF = "Name the ONNX file that it was made from."

_FORMATS: dict[str, tuple[str, str]] = {
    ".pt": ("a PyTorch pickle", _WEIGHTS),
    ".pth": ("a PyTorch pickle", _WEIGHTS),
    ".ckpt": ("a checkpoint", _WEIGHTS),
    ".safetensors": ("a file of weights without a model", _WEIGHTS),
    ".h5": ("in Keras's old HDF5 format", "Save it again: keras.models.load_model('{name}').save('{stem}.keras')"),
    ".hdf5": ("in Keras's old HDF5 format", "Save it again: keras.models.load_model('{name}').save('{stem}.keras')"),
    ".tflite": ("a TensorFlow Lite file", "Convert it: python -m tf2onnx.convert --tflite {file} --output MODEL.onnx"),
    ".pb": ("a TensorFlow graph", "Name the SavedModel folder that holds it, or convert it: python -m tf2onnx.convert"),
    ".pkl": ("a pickle", "Convert a scikit-learn model with skl2onnx.to_onnx(model, example_inputs)"),
    ".joblib": ("a pickle", "Convert a scikit-learn model with skl2onnx.to_onnx(model, example_inputs)"),
    ".pdmodel": ("a PaddlePaddle model", "Convert it: paddle2onnx --model_filename {file} --save_file MODEL.onnx"),
    ".ort": ("in ONNX Runtime's own format", _ONNX_ITSELF),
    ".xml": ("an OpenVINO model", _ONNX_ITSELF),
    ".engine": ("a compiled TensorRT engine", _ONNX_ITSELF),
    ".gguf": ("a llama.cpp model", "Export the original model: optimum-cli export onnx --model NAME FOLDER"),
}


def refusal(source: str) -> IrbenchError | None:
    """Return why a file of another framework cannot be measured, and what makes an ONNX file of it.

    ``None`` where its name does not end like one.
    """
    path = Path(source)
    if path.suffix.lower() not in _FORMATS:
        return None
    kind, way = _FORMATS[path.suffix.lower()]
    hint = way.format(name=path.name, stem=path.stem, file=quote(str(path)))
    return IrbenchError(f"{source} is {kind}, which irbench does not read.", hint=hint)


_SHOWN = 8


def unknown_source(source: Source) -> IrbenchError:
    """Return why a source is not a model, with what is nearest to it."""
    text, path = source.text, Path(source.text)
    if path.suffix == ".onnx":
        return IrbenchError(f"{text} is already an ONNX model.", hint=f"Measure it: irbench run {quote(text)}")
    without_function = _without_function(text, source.folder) or _without_function(f"{text}.py", source.folder)
    if without_function is not None:
        return without_function
    other = refusal(text)
    if other is not None:
        return other
    if exists(path):
        return IrbenchError(
            f"{text} is not an ONNX file (.onnx), a .keras file or a SavedModel folder.",
            hint="A SavedModel folder contains saved_model.pb; a function is written path/to/file.py:function.",
        )
    if len(path.parts) > 1:
        return IrbenchError(f"There is no file or folder {text}.", hint=similar_file(path) or "Check the path.")
    exported = did_you_mean(text, (folder.parent.name for folder in bundles.all()))
    hint = similar_file(path) or exported or registry.known_names(registry.MODELS, text)
    return IrbenchError(f"There is no model called {text}.", hint=hint)


def similar_file(path: Path) -> str:
    """Return the question whether a model file beside ``path`` was meant; empty where none has a similar name."""
    files = [file for suffix in (".onnx", ".keras") for file in sorted(path.parent.glob(f"*{suffix}"))]
    near = next((file.name for file in files if file.stem == path.stem), None)
    near = near or nearest(path.name, (file.name for file in files))
    return f"Did you mean {path.with_name(near)}?" if near else ""


def _without_function(text: str, folder: Path) -> IrbenchError | None:
    """Return that a file of Python needs a function with it, and which it has; ``None`` for anything else."""
    module = text.removesuffix(":")
    file = Source(module, folder).path
    if file.suffix != ".py" or not is_file(file):
        return None
    functions = makers(file, module)
    if not functions:
        hint = f"Write one that takes nothing and returns a model, and name it: {quote(module)}:function."
        return IrbenchError(f"{module} has no function that could make a model.", hint=hint)
    names = ", ".join(quote(f"{module}:{name}") for name in functions[:_SHOWN])
    more = ", ..." if len(functions) > _SHOWN else ""
    return IrbenchError(f"{module} alone does not say which function makes the model.", hint=f"Name it: {names}{more}")


def from_onnx_file(path: Path) -> Bundle:
    """Return a bundle around an ONNX file of unknown origin, which is examined in a process of its own.

    Floating-point inputs are drawn from [0, 1), integers from [0, 2), strings are such integers in digits; what is
    called a mask has rows of ones followed by zeros, one of padding zeros followed by ones. There are no reference
    outputs.
    """
    path = path.absolute()
    require_model_file(path)
    free_bytes = host.available_memory_bytes()
    _require_memory(path, 0, free_bytes)
    signature, outside_bytes, draws, class_axes = examine_file(path)
    _require_memory(path, outside_bytes, free_bytes)
    return Bundle(
        name=name_of_file(path),
        inputs=tuple(map(_input, signature.inputs)),
        artifacts=(Artifact("onnx", path, signature.inputs, signature.outputs, opset=signature.opset),),
        class_axes=class_axes,
        source=str(path),
        details={
            "nodes": signature.nodes,
            **({BATCH_IN_FILE: signature.batch_in_file} if signature.batch_in_file else {}),
            **({RANDOM_DRAWS: ", ".join(draws.operators)} if draws.operators else {}),
            **({RANDOM_SWITCH: draws.switch, RANDOM_SWITCH_OFF: draws.off} if draws.switch else {}),
        },
    )


def name_of_file(path: Path) -> str:
    """Return what tables call the model of a file; the folder says more where it is one of many ``model.onnx``."""
    path = path.absolute()
    return f"{path.parent.name}/{path.stem}" if path.stem == "model" else path.stem


def _require_memory(path: Path, outside_bytes: int, free_bytes: int) -> None:
    size = path.stat().st_size + outside_bytes
    if size > free_bytes:
        raise IrbenchError(
            f"{path} has {size / 1e9:.1f} GB with its weights, and {free_bytes / 1e9:.1f} GB of memory are available.",
            hint="Use a machine with more memory.",
        )


def _input(spec: TensorSpec) -> InputSpec:
    is_mask = _is_mask(spec)
    return InputSpec(spec, 0.0, _high(spec), is_mask, is_mask and is_named_as_padding(spec.name, spec.dtype))


def _high(spec: TensorSpec) -> float:
    return 2.0 if "int" in spec.dtype or spec.dtype == STRING else 1.0


def _is_mask(spec: TensorSpec) -> bool:
    return spec.dtype != STRING and is_named_as_mask(spec.name)
