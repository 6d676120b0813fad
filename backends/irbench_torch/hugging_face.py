"""Folders as Hugging Face's libraries write them: ``config.json`` and weights in safetensors. Nothing is downloaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

from irbench.errors import IrbenchError, first_line
from irbench.spi import extra_command

_EXAMPLE_BATCH, _EXAMPLE_LENGTH = 2, 16
_IMAGE_SIZE = 224
"""Of models that take images of any size."""
_PICKLES = ("*.bin", "*.pt", "*.pth")
_CONVERT = (
    'python -c "import torch; from safetensors.torch import save_file;'
    " save_file({{k: v.contiguous().clone() for k, v in torch.load({old!r}, weights_only=True).items()}}, {new!r},"
    " {{'format': 'pt'}})\""
)


def is_model_folder(path: Path) -> bool:
    """Whether a folder holds the configuration of a model of transformers."""
    try:
        return path.is_dir() and "model_type" in json.loads((path / "config.json").read_bytes())
    except (OSError, ValueError, TypeError):
        return False


def load(folder: Path, weights: str | None) -> tuple[Any, Mapping[str, Any], Mapping[str, Mapping[int, str]]]:
    """Return the model of a folder, keyword inputs that its configuration describes, and their dynamic dimensions.

    Args:
        folder: With ``config.json``, and weights as ``*.safetensors`` unless they are to be random.
        weights: ``random``, or ``None`` for those in the folder.

    Raises:
        IrbenchError: transformers is missing, weights are pickles or do not fit, or the inputs are of no known kind.
    """
    if find_spec("transformers") is None:
        raise IrbenchError(
            f"{folder} is a model of transformers, which is not installed.", hint=extra_command("huggingface")
        )
    import transformers

    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except ValueError as error:
        raise IrbenchError(
            f"{folder} is no model of transformers {transformers.__version__}: {first_line(error)}",
            hint="Use a release of transformers that knows it, or write a function: file.py:function.",
        ) from error
    config.use_cache = False
    kind = getattr(transformers, (config.architectures or ["?"])[0], None)
    if kind is None:
        raise IrbenchError(
            f"{folder / 'config.json'} names no architecture that transformers {transformers.__version__} has.",
            hint='Write its class to "architectures", for example ["BertModel"].',
        )
    if weights == "random":
        module = kind(config)
    else:
        _require_safetensors(folder)
        try:
            module, found = kind.from_pretrained(
                folder, config=config, local_files_only=True, use_safetensors=True, output_loading_info=True
            )
        except Exception as error:
            raise IrbenchError(
                f"The weights in {folder} do not fit {kind.__name__}: {first_line(error)}",
                hint="Use weights that were saved from the same architecture, or --weights random.",
            ) from error
        missing = sorted({*found["missing_keys"], *(str(key) for key in found.get("mismatched_keys", ()))})
        if missing:
            raise IrbenchError(
                f"{folder} has no weights for {kind.__name__}: {', '.join(missing[:3])}.",
                hint='Name the class that was saved in "architectures" of config.json, or draw them: --weights random.',
            )
    return module, *_inputs(module, config)


def _require_safetensors(folder: Path) -> None:
    if any(folder.glob("*.safetensors")):
        return
    pickle = next((file for pattern in _PICKLES for file in sorted(folder.glob(pattern))), None)
    if pickle is None:
        raise IrbenchError(
            f"{folder} has no weights (*.safetensors).", hint="Save them there, or draw them: --weights random."
        )
    raise IrbenchError(
        f"The weights in {folder} are a pickle, {pickle.name}, which may run any code when it is read.",
        hint="Convert it once, if you trust it: "
        + _CONVERT.format(old=quote(str(pickle)), new=quote(str(folder / "model.safetensors"))),
    )


def _inputs(module: Any, config: Any) -> tuple[Mapping[str, Any], Mapping[str, Mapping[int, str]]]:
    """Return example inputs, and the names of their dynamic dimensions."""
    import torch

    def tokens(vocabulary: int) -> Any:
        return torch.randint(0, vocabulary, (_EXAMPLE_BATCH, _EXAMPLE_LENGTH))

    text = getattr(config, "vocab_size", None)
    match module.main_input_name:
        case "input_ids" if text is not None:
            inputs = {"input_ids": tokens(text)}
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
            dimensions = {name: {1: "sequence_length"} for name in inputs}
            if config.is_encoder_decoder:
                inputs["decoder_input_ids"] = tokens(text)
                dimensions["decoder_input_ids"] = {1: "decoder_sequence_length"}
            return inputs, dimensions
        case "pixel_values" if hasattr(config, "num_channels"):
            sizes = getattr(config, "image_size", _IMAGE_SIZE)
            height, width = sizes if isinstance(sizes, list | tuple) else (sizes, sizes)
            return {"pixel_values": torch.rand(_EXAMPLE_BATCH, config.num_channels, height, width)}, {}
        case other:
            raise IrbenchError(
                f"{type(module).__name__} takes {other}, for which no inputs can be generated from its configuration.",
                hint="Write a function that returns the model and its inputs, and name it: file.py:function.",
            )
