"""Lines of code in a document: as they are on a terminal, fenced in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions
from rich.text import Text

from irbench.plain_text import plain
from irbench.render.markdown import code_block


@dataclass(frozen=True)
class CodeBlock:
    """Code to copy: no line of it is wrapped by irbench.

    Attributes:
        code: It.
        language: What Markdown calls its language.
    """

    code: str
    language: str

    def as_markdown(self) -> str:
        """Return it between fences."""
        return code_block(self.code, self.language)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield its lines, each indented; called by rich."""
        for line in self.code.splitlines():
            yield Text(f"  {plain(line)}", no_wrap=True, overflow="ignore")
