"""Whether an ONNX file is what it claims to be."""

from __future__ import annotations

from pathlib import Path

from irbench.errors import IrbenchError

__all__ = ["check_file"]


def check_file(path: Path, shapes: bool) -> None:
    """Run ONNX' checker over a file; it also refuses external data outside the file's folder.

    Args:
        path: The file.
        shapes: Whether to infer every shape in the graph too, strictly. Files from elsewhere may hold
            operations of a runtime's own, whose shapes nobody else knows.

    Raises:
        IrbenchError: The file breaks the standard, or shapes in it contradict each other.
    """
    from onnx import checker

    try:
        checker.check_model(str(path), full_check=shapes)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise IrbenchError(
            f"{path.name} is no valid ONNX model: {reason}", hint="Check it with: python -m onnx.checker FILE"
        ) from error
