"""What docs/plans.md shows can be measured as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from front_door import irbench

_DOCUMENT = Path("docs/plans.md").read_text(encoding="utf-8")
_TEXTS = re.findall(r"^```toml\n(.*?)^```", _DOCUMENT, re.DOTALL | re.MULTILINE)
_SCHEMA = json.loads(Path("irbench/features/plan/plans/plan.schema.json").read_text(encoding="utf-8"))

pytestmark = pytest.mark.usefixtures("known_backends")


def expanded(text: str, folder: Path) -> list[dict[str, object]]:
    plan = folder / "plan.toml"
    plan.write_text(text, encoding="utf-8")
    called = irbench("plan", "expand", plan, "--format", "json")
    assert called.code == 0, called.err
    assert "no option" not in called.err
    cells: list[dict[str, object]] = called.document["cells"]
    return cells


@pytest.mark.parametrize("place", range(len(_TEXTS)))
def test_a_plan_that_is_shown_has_cells(place: int, tmp_path: Path) -> None:
    assert expanded(_TEXTS[place], tmp_path)


def test_options_of_backends_are_in_all_cells_or_in_tables_of_their_own(tmp_path: Path) -> None:
    (text,) = (text for text in _TEXTS if "set = [" in text)
    cells = expanded(text, tmp_path)
    found = {json.dumps(dict(cell["settings"])["set"]) for cell in cells}  # type: ignore[call-overload]
    assert found == {
        '{"ort": {"dynamic_block_base": "4"}}',
        '{"ort": {"intra_op.allow_spinning": "0"}}',
        '{"ort": {"intra_op.allow_spinning": "1"}}',
    }
    assert len({cell["table"] for cell in cells}) == 3


def test_every_key_of_a_plan_is_named() -> None:
    keys = {*_SCHEMA["$defs"]["SettingsDocument"]["properties"], *_SCHEMA["$defs"]["MatrixDocument"]["properties"]}
    assert [key for key in sorted(keys) if not re.search(rf"`{key}`|^{key} =", _DOCUMENT, re.MULTILINE)] == []
