"""Files of other frameworks, and how to convert each to ONNX."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from irbench.errors import IrbenchError

_TORCH = (
    "Write its nn.Module as ONNX with PyTorch: torch.onnx.export(module, example_inputs, '{stem}.onnx', dynamo=True)"
)
_WEIGHTS = (
    "Load them into the model they belong to, then write that as ONNX: torch.onnx.export(model, ..., '{stem}.onnx')"
)
_ONNX_ITSELF = "Name the ONNX file that it was made from."

_FORMATS: dict[str, tuple[str, str]] = {
    ".pt": ("a PyTorch file", _TORCH),
    ".pth": ("a PyTorch file", _TORCH),
    ".pt2": ("a PyTorch program", "Write it as ONNX: torch.onnx.export(torch.export.load('{name}'), f='{stem}.onnx')"),
    ".ckpt": ("a checkpoint", _WEIGHTS),
    ".safetensors": ("a file of weights without a model", _WEIGHTS),
    ".h5": ("in Keras's old HDF5 format", "Save it again: keras.models.load_model('{name}').save('{stem}.keras')"),
    ".hdf5": ("in Keras's old HDF5 format", "Save it again: keras.models.load_model('{name}').save('{stem}.keras')"),
    ".tflite": ("a TensorFlow Lite file", "Convert it: python -m tf2onnx.convert --tflite {file} --output MODEL.onnx"),
    ".pb": (
        "a TensorFlow graph",
        "Name the SavedModel folder that holds it, or convert it: python -m tf2onnx.convert",
    ),
    ".pkl": ("a pickle", "Convert a scikit-learn model with skl2onnx.to_onnx(model, example_inputs)"),
    ".joblib": ("a pickle", "Convert a scikit-learn model with skl2onnx.to_onnx(model, example_inputs)"),
    ".pdmodel": ("a PaddlePaddle model", "Convert it: paddle2onnx --model_filename {file} --save_file MODEL.onnx"),
    ".ort": ("in ONNX Runtime's own format", _ONNX_ITSELF),
    ".xml": ("an OpenVINO model", _ONNX_ITSELF),
    ".engine": ("a compiled TensorRT engine", _ONNX_ITSELF),
    ".gguf": (
        "a llama.cpp model",
        "Export the original model: optimum-cli export onnx --model NAME FOLDER",
    ),
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
