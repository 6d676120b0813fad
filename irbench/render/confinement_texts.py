"""What users are told of workers that are not confined."""

from __future__ import annotations


def unconfined_root_text(variable: str) -> str:
    """Return the warning that a model from elsewhere is run with the rights of root.

    Args:
        variable: Of the environment, which confines workers, or says that this is known.
    """
    return (
        "warning: models of others run with all rights of root here: set"
        f" {variable}=1 to confine their workers, or {variable}=0 if you trust the model"
    )
