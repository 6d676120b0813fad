"""``.keras`` files with hostile values in valid places of their configuration."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

from irbench_tf.loading.keras_files import require_registered, require_trustworthy

from .altered_documents import altered, json_bytes
from .hostile_values import OUTSIDE

_FUNCTION = {"module": "builtins", "class_name": "function", "config": "relu", "registered_name": "function"}
_DENSE = {
    "module": "keras.layers",
    "class_name": "Dense",
    "config": {"name": "dense", "units": 3, "activation": _FUNCTION},
    "registered_name": None,
    "name": "dense",
    "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [None, 4]}}], "kwargs": {}}],
}
_CONFIG = {"module": "keras", "class_name": "Functional", "config": {"name": "net", "layers": [_DENSE]}}
_MEMBERS = ("model.weights.h5", "../escaped", OUTSIDE)


def write_keras_file(folder: Path, chance: random.Random) -> Path:
    """Write one and return its path."""
    path = folder / "net.keras"
    with zipfile.ZipFile(path, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as made:
        made.writestr(zipfile.ZipInfo("config.json"), json_bytes(altered(_CONFIG, chance), chance))
        made.writestr(zipfile.ZipInfo(chance.choice(_MEMBERS)), b"weights")
    return path


def examine_keras_file(path: Path) -> None:
    """Do what is done with it before Keras is given it.

    Raises:
        IrbenchError: It is refused.
    """
    require_registered(path, ())
    require_trustworthy(path)
