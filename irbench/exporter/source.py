"""What a user named as a model: where it is, whatever it was called."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from irbench import registry
from irbench.errors import IrbenchError
from irbench.exporter.modules import find_users_module
from irbench.system.file_states import exists


def require_possible(text: str) -> None:
    """Refuse a text that can be no path, so that nothing has to expect it later."""
    try:
        Path(text, "card.json").exists()
    except PermissionError as error:
        raise IrbenchError(
            f"{text} cannot be reached: {error.strerror}.", hint="Copy the model into a folder that you can read."
        ) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise IrbenchError(
            f"{text} is no name of a model: {reason}.", hint="List the models: irbench models"
        ) from error


@dataclass(frozen=True)
class Source:
    """A model as the user named it, and the folder in which that was.

    Attributes:
        text: A zoo name, a file, a folder, ``package.module:function`` or ``path/to/file.py:function``.
        folder: Relative paths and modules are searched there.
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
        module, colon, function = self.text.rpartition(":")
        if self.is_zoo or not (colon and module and function.isidentifier()) or exists(self.path):
            return None
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
