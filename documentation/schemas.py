"""The page of JSON Schemas: the fields of the documents that irbench writes and reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from documentation.markdown import GENERATED, code, table
from documentation.python_api import marked, sections, words

ROOT = Path(__file__).parents[1]
PAGE = Path("docs/reference/schemas.md")
_DOCUMENTS = {
    "irbench/store/run.schema.json": ("Runs", "`run.json` of a stored run, printed by `irbench show --format json`."),
    "irbench/features/profile/profile.schema.json": (
        "Profiles",
        "A stored profile, printed by `irbench profile MODEL --format json`.",
    ),
    "irbench/features/plan/plans/plan.schema.json": (
        "Plans",
        "A plan for `irbench sweep`, in TOML; printed by `irbench plan schema`.",
    ),
}
_INTRODUCTION = """\
The schemas are JSON Schema 2020-12, and come with the package. Below are the types of each, without those of
[codes](codes.md). A field that is not required may be missing, and then has its default."""

Schema = Mapping[str, Any]


def schemas_page() -> str:
    """Return the page of schemas."""
    text = f"# JSON Schemas\n\n{GENERATED}\n\n{_INTRODUCTION}\n"
    described: set[str] = set()
    for path, (title, introduction) in _DOCUMENTS.items():
        schema = json.loads((ROOT / path).read_text())
        types = _root_first(schema)
        text += f"\n## {title}\n\n{introduction} The schema: [{Path(path).name}](../../{path}).\n"
        for name, kind in types.items():
            if name not in described and not _is_code(name, types) and kind.get("properties"):
                described.add(name)
                text += f"\n### {name}\n\n{_described(kind)}"
    return text


def _root_first(schema: Schema) -> Mapping[str, Schema]:
    """Return the types of a schema by name, that of the whole document first."""
    types = schema["$defs"]
    if "properties" in schema:
        return {schema["title"]: schema, **types}
    root = schema["$ref"].rpartition("/")[2]
    return {root: types[root], **types}


def _is_code(name: str, types: Mapping[str, Schema]) -> bool:
    return "facts" in types.get(name.removesuffix("Facts"), {}).get("properties", {})


def _described(kind: Schema) -> str:
    """Return what a type is, and its fields; its description is the docstring of a class."""
    parts = sections(kind.get("description", ""))
    meanings = {item.name: item.description for part in parts if part.kind.value == "attributes" for item in part.value}
    meanings |= {name: field["description"] for name, field in kind["properties"].items() if "description" in field}
    rows = (
        (code(name), _type(field), "yes" if name in kind.get("required", ()) else "", words(meanings.get(name, "")))
        for name, field in kind["properties"].items()
    )
    introduction = "\n\n".join(marked(part.value) for part in parts if part.kind.value == "text")
    return f"{introduction}\n\n{table(('field', 'type', 'required', 'meaning'), rows)}".lstrip()


def _type(field: Schema) -> str:
    return " or ".join(dict.fromkeys(_types(field)))


def _types(field: Schema) -> Iterator[str]:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        yield f"[{name}](#{name.lower()})" if name in _linked() else code(name)
    elif "enum" in field or "const" in field:
        yield from (code(json.dumps(value)) for value in field.get("enum", [field.get("const")]))
    elif "anyOf" in field:
        for inner in field["anyOf"]:
            yield from _types(inner)
    elif field.get("type") == "array":
        inner = field.get("items") or {}
        yield f"array of {_type(inner) if inner else 'values'}"
    elif isinstance(field.get("additionalProperties"), dict) and field["additionalProperties"]:
        yield f"object of {_type(field['additionalProperties'])}"
    else:
        kinds = field.get("type", "any value")
        yield from (kinds if isinstance(kinds, list) else [kinds])


@cache
def _linked() -> frozenset[str]:
    """Return the names of the types that the page describes."""
    found = set[str]()
    for path in _DOCUMENTS:
        types = json.loads((ROOT / path).read_text()).get("$defs", {})
        found |= {name for name, kind in types.items() if kind.get("properties") and not _is_code(name, types)}
    return frozenset(found)
