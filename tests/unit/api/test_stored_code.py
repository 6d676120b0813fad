"""What a stored plan may name where it is measured again."""

from __future__ import annotations

import pytest

from irbench.api.options import RunOptions
from irbench.api.stored_code import refuse_stored_folders
from irbench.errors import IrbenchError


@pytest.mark.parametrize(
    "stored",
    [
        RunOptions(set={"openvino": {"CACHE_DIR": "/home/you"}}),
        RunOptions(vary={"openvino": {"CACHE_DIR": ("a", "/home/you")}}),
    ],
    ids=["set", "varied"],
)
def test_a_stored_plan_chooses_no_folder_for_a_confined_model(
    monkeypatch: pytest.MonkeyPatch, stored: RunOptions
) -> None:
    monkeypatch.delenv("IRBENCH_CONFINE", raising=False)
    refuse_stored_folders(stored)
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    refuse_stored_folders(RunOptions(set={"ort": {"intra_op.allow_spinning": "1"}}))
    with pytest.raises(IrbenchError, match="/home/you"):
        refuse_stored_folders(stored)
