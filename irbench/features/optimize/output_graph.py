"""The file that an optimised graph is copied to."""

from __future__ import annotations

from pathlib import Path

from irbench.errors import IrbenchError
from irbench.optimizer import copy_model
from irbench.spec import Bundle
from irbench.system.file_states import exists


def refuse_overwrite(bundle: Bundle, output: Path) -> None:
    """Refuse to write over the graph that is to be optimised.

    Raises:
        IrbenchError: That is what the output names.
    """
    artifact = bundle.artifact(("onnx",))
    if artifact is not None and exists(output) and output.samefile(artifact.path):
        raise IrbenchError(f"-o {output} would overwrite the input graph.", hint="Give another path with -o.")


def copy_to(source: Path, output: Path) -> None:
    """Copy a graph with its weights.

    Raises:
        IrbenchError: The output cannot be written.
    """
    try:
        copy_model(source, output)
    except OSError as error:
        raise IrbenchError(
            f"{output} cannot be written: {error.strerror}.", hint="Give another path with -o."
        ) from error
