"""What a user named as a model: where it is, the files of its modules, and whether its code is there."""

from __future__ import annotations

import ast
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from irbench.core import registry
from irbench.core.address import function_address
from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.system.file_states import exists, is_file, is_folder


def find_users_module(module: str, folders: Sequence[Path]) -> Path | None:
    """Return the file of a module of the user's: what lies in ``folders`` comes before the environment."""
    importlib.invalidate_caches()  # files that were written just now are there too
    search = [*map(str, folders), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return _in_folders(module, search) or find_module(module)


def find_module(module: str) -> Path | None:
    """Return the file of a module of the environment."""
    top, _, rest = module.partition(".")
    spec = importlib.machinery.PathFinder.find_spec(top) or _from_any_finder(top)
    return _below(spec, rest)


def package_files(module: str) -> list[Path]:
    """Return every Python file of the top-level package or module that a module belongs to, sorted."""
    file = find_module(module.partition(".")[0])
    if file is None:
        return []
    return sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]


def _in_folders(module: str, search: list[str]) -> Path | None:
    top, _, rest = module.partition(".")
    return _below(importlib.machinery.PathFinder.find_spec(top, search), rest) if top else None


def _below(spec: importlib.machinery.ModuleSpec | None, rest: str) -> Path | None:
    """Return the file of a module below another; of the other itself where ``rest`` is empty."""
    for part in filter(None, rest.split(".")):
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(part, list(spec.submodule_search_locations))
    return Path(os.path.normpath(spec.origin)) if spec is not None and spec.has_location and spec.origin else None


def _from_any_finder(top: str) -> importlib.machinery.ModuleSpec | None:
    if not top or top in sys.builtin_module_names:
        return None
    try:
        return importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None


def require_possible(text: str) -> None:
    """Refuse a text that cannot be a path, so that nothing has to expect it later."""
    try:
        Path(text, "card.json").exists()
    except PermissionError as error:
        raise IrbenchError(
            f"{text} cannot be reached: {error.strerror}.", hint="Copy the model into a folder that you can read."
        ) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise IrbenchError(
            f"{text} is not a valid name of a model: {reason}.", hint="List the models: irbench models"
        ) from error


@dataclass(frozen=True)
class Source:
    """A model as the user named it, and the folder in which that was.

    Attributes:
        text: A zoo name, a file, a folder, ``package.module:function`` or ``path/to/file.py:function``.
    """

    text: str
    folder: Path = field(default_factory=Path.cwd)

    @property
    def is_zoo(self) -> bool:
        """Whether it is the name of a model that a package brings; such a name comes before a file's."""
        return self.text in registry.names(registry.MODELS)

    @property
    def path(self) -> Path:
        """Its absolute path, if it is a file or a folder."""
        return Path(os.path.normpath(self.folder / self.text))

    @property
    def function(self) -> tuple[str, str] | None:
        """Module and function; the module is a dotted name or an absolute path. ``None`` for any other source."""
        address = function_address(self.text)
        if address is None or self.is_zoo or exists(self.path):
            return None
        module, function = address
        return (os.path.normpath(self.folder / module) if module.endswith(".py") else module), function

    @property
    def code_folders(self) -> tuple[Path, ...]:
        """Where the modules of its code are searched before the environment."""
        beside = (Path(self.function[0]).parent,) if self.function and self.function[0].endswith(".py") else ()
        return tuple(dict.fromkeys((*beside, self.folder)))

    @property
    def code_file(self) -> Path | None:
        """The file of its function; ``None`` where there is no function, or its module cannot be found."""
        if self.function is None:
            return None
        module = self.function[0]
        return Path(module) if module.endswith(".py") else find_users_module(module, self.code_folders)

    @property
    def module(self) -> str:
        """The module that its code starts in, as a dotted name; empty where it has no code."""
        if self.is_zoo:
            return registry.entry_point(registry.MODELS, self.text).module
        module = self.function[0] if self.function else ""
        return Path(module).stem if module.endswith(".py") else module

    @property
    def location(self) -> str:
        """Where it is: equal for two ways of naming the same model, and different for two models."""
        if self.is_zoo:
            return self.text
        if self.function is None:
            return str(self.path)
        return f"{self.code_file or self.function[0]}:{self.function[1]}"

    @property
    def absolute(self) -> str:
        """Its text as an exporter understands it from any folder."""
        if self.is_zoo or self.function is None:
            return self.text if self.is_zoo or not exists(self.path) else str(self.path)
        return ":".join(self.function)

    @property
    def exists(self) -> bool:
        """Whether it can be found now."""
        if self.is_zoo:
            return True
        file = self.path if self.function is None else self.code_file
        return file is not None and exists(file)


_MAKES_NAMES = frozenset({"exec", "eval", "globals", "vars", "locals", "setattr", "__dict__", "modules"})
"""With these a module may define names that its text does not show."""
_MAKES_MODULES = ("__path__", "modules", "meta_path", "path_hooks")
_MOST_BYTES = 1 << 22
_SHOWN = 8


def require_code(source: Source, imports: Sequence[str]) -> None:
    """Refuse a module or function that is certainly not there; what only running it would show is let through."""
    for module in imports:
        _require_module(module, (source.folder,))
    if source.function is None:
        return
    module, function = source.function
    if not module.endswith(".py"):
        _require_module(module, source.code_folders)
    file = source.code_file
    if file is not None and file.suffix == ".py":
        _require_function(file, source.text.rpartition(":")[0], function)


def makers(file: Path, module: str) -> list[str]:
    """Return the functions of a file that may make a model: they can be called with nothing, and are not private.

    Args:
        file: It is parsed, and not run; none are known of one that is too large.
        module: How it was named.
    """
    tree = _parsed(file, module)
    functions = (node for node in (tree.body if tree else ()) if isinstance(node, ast.FunctionDef))
    return [node.name for node in functions if node.name[0] != "_" and not _needs_arguments(node.args)]


def repeated_keys(file: Path, module: str, name: str) -> list[str]:
    """Return the keys that stand twice in a mapping that a file assigns to a name or returns from a function of it.

    Python keeps the last of each and says nothing. The file is parsed, and not run.
    """
    tree = _parsed(file, module)
    mappings = (value for node in (tree.body if tree else ()) for value in _values_of(node, name))
    return [
        key
        for mapping in mappings
        for key, count in Counter(str(key.value) for key in mapping.keys if isinstance(key, ast.Constant)).items()
        if count > 1
    ]


class FirstParameter(NamedTuple):
    """How a function calls its first parameter, and what it reads of it.

    Attributes:
        attributes: Of the parameter; ``None`` where it is used otherwise too, so that anything of it may be read.
        makes_function: Whether all that the function returns is certainly a function, and no stages.
    """

    name: str
    attributes: frozenset[str] | None
    makes_function: bool


def first_parameter(file: Path, module: str, name: str) -> FirstParameter | None:
    """Return what a function of a file does with its first parameter; ``None`` where the file does not show it.

    Something of that name may be made in other ways, and a decorator may change it. The file is parsed, and not run.
    """
    tree = _parsed(file, module)
    made = [node for node in (tree.body if tree else ()) if name in _names_made_by(node)]
    function = made[0] if len(made) == 1 else None
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    arguments = function.args
    first = next(iter((*arguments.posonlyargs, *arguments.args)), arguments.vararg)
    if first is None:
        return None
    return FirstParameter(first.arg, _attributes_of(first.arg, function), _makes_function(function))


def _makes_function(function: ast.FunctionDef) -> bool:
    own = list(_outside_functions(function))
    made = Counter(name for statement in function.body for name in _names_made_by(statement))
    within = {
        node.name
        for node in own
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and made[node.name] == 1
    }
    returned = [node.value for node in own if isinstance(node, ast.Return)]
    return all(
        isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in within) for value in returned
    )


def _attributes_of(name: str, function: ast.FunctionDef) -> frozenset[str] | None:
    nodes = list(ast.walk(function))
    uses = sum(isinstance(node, ast.Name) and node.id == name for node in nodes)
    attributes = [
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    ]
    return frozenset(attributes) if len(attributes) == uses else None


def _names_made_by(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement may give a meaning to, those within it included."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield inner.name
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif isinstance(inner, ast.alias):
            yield inner.asname or inner.name


def _values_of(node: ast.stmt, name: str) -> Iterator[ast.Dict]:
    found: list[ast.expr | None] = []
    if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in node.targets):
        found = [node.value]
    elif isinstance(node, ast.FunctionDef) and node.name == name:
        found = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return)]
    yield from (value for value in found if isinstance(value, ast.Dict))


def _needs_arguments(arguments: ast.arguments) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args)
    return positional > len(arguments.defaults) or None in arguments.kw_defaults


def _require_module(module: str, folders: Sequence[Path]) -> None:
    if module.endswith(".py"):
        if not is_file(folders[0] / module):
            raise IrbenchError(f"There is no file {module}.", hint="Check the path.")
        return
    parent, _, name = module.rpartition(".")
    if module in sys.builtin_module_names:  # these have no files
        return
    if find_users_module(module, folders) is not None or _is_namespace(module, folders):
        return
    if parent:
        _require_module(parent, folders)
        package = find_users_module(parent, folders)
        if package is not None and _mentions(_parsed(package, parent), _MAKES_MODULES):
            return
        beside = [] if package is None or package.name != "__init__.py" else _modules_in(package.parent)
    else:
        beside = _modules_in(folders[0])
    shown = ", ".join(str(folder) for folder in folders)
    near = did_you_mean(name, beside)
    near = near.replace(" mean ", f" mean {parent}.") if parent else near
    raise IrbenchError(
        f"There is no module {module}.",
        hint=f"{near}Modules are searched in {shown} and in the environment of irbench.",
    )


def _is_namespace(module: str, folders: Sequence[Path]) -> bool:
    """Whether a module may be a folder without ``__init__.py``."""
    return any(is_folder(folder / Path(*module.split("."))) for folder in folders)


def _modules_in(folder: Path) -> list[str]:
    packages = [file.parent.name for file in folder.glob("*/__init__.py")]
    return sorted([*packages, *(file.stem for file in folder.glob("*.py") if file.stem != "__init__")])


def _require_function(file: Path, module: str, function: str) -> None:
    tree = _parsed(file, module)
    if tree is None:
        return
    names = set(_top_level_names(tree))
    if function in names or "*" in names or "__getattr__" in names or _mentions(tree, _MAKES_NAMES):
        return
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"]
    more = ", ..." if len(functions) > _SHOWN else ""
    there = f"It has: {', '.join(functions[:_SHOWN])}{more}." if functions else "It has none."
    raise IrbenchError(
        f"{module} has no function {function}.", hint=f"{did_you_mean(function, functions or names)}{there}"
    )


def _parsed(file: Path, module: str) -> ast.Module | None:
    try:
        if file.suffix != ".py" or file.stat().st_size > _MOST_BYTES:
            return None
        return ast.parse(file.read_bytes(), str(file))
    except SyntaxError as error:
        raise IrbenchError(
            f"{module} cannot be imported: {error.msg} in line {error.lineno} of {file}.", hint="Correct that line."
        ) from error
    except (OSError, ValueError, RecursionError, MemoryError):
        return None


def _top_level_names(tree: ast.Module) -> Iterator[str]:
    for node in _outside_functions(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
    yield from (name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names)


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _outside_functions(child)


def _mentions(tree: ast.Module | None, names: Iterable[str]) -> bool:
    """Whether a module uses one of some names, as a variable or an attribute; one that cannot be parsed may."""
    used = set(names)
    nodes = ast.walk(tree) if tree is not None else ()
    mentioned = {
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes
        if isinstance(node, ast.Name | ast.Attribute)
    }
    return tree is None or not used.isdisjoint(mentioned)
