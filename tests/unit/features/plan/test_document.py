"""The schema of plans is shipped as its classes are."""

from __future__ import annotations

import json
import tomllib

import jsonschema
import pytest

from irbench.features.plan.document import PlanDocument, SettingsDocument, plan_schema
from irbench.features.plan.expansion import AXES, COMPARABLE
from irbench.features.plan.reading import SHIPPED, shipped_plans

SCHEMA = json.loads(plan_schema())


def test_the_shipped_schema_is_that_of_the_classes():
    assert (SHIPPED / "plan.schema.json").read_bytes() == plan_schema()


@pytest.mark.parametrize("name", shipped_plans())
def test_the_schema_accepts_the_shipped_plans(name: str):
    plan = tomllib.loads((SHIPPED / f"{name}.toml").read_text())
    problems = jsonschema.validators.validator_for(SCHEMA)(SCHEMA).iter_errors(plan)
    assert [problem.message for problem in problems] == []


@pytest.mark.parametrize("wrong", [{"matrx": []}, {"defaults": {"batch": 0}}, {"matrix": [{"io": "bond"}]}])
def test_the_schema_refuses_what_a_plan_cannot_have(wrong: dict[str, object]):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


def test_the_schema_describes_every_key():
    tables = [SCHEMA, *SCHEMA["$defs"].values()]
    assert [key for table in tables for key, value in table["properties"].items() if "description" not in value] == []


def test_axes_are_the_keys_that_take_lists_and_what_is_compared_is_among_them():
    several = {"import", "vary", "rows", "classes", "counters", *AXES}
    form = {field.alias: str(field.annotation) for field in SettingsDocument.model_fields.values()}
    assert {key for key, annotation in form.items() if "tuple[" in annotation} == several
    assert set(COMPARABLE) < set(AXES)
    assert set(PlanDocument.model_fields["compare"].default) < set(COMPARABLE)
