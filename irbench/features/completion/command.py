"""``irbench completion``: print the completion script for a shell."""

from __future__ import annotations

import click

from irbench.terminal.groups import OneOf

_EXAMPLES = """\b
To enable it:
  bash  irbench completion bash > ~/.irbench.bash; echo '. ~/.irbench.bash' >> ~/.bashrc
  zsh   irbench completion zsh > ~/.irbench.zsh; echo '. ~/.irbench.zsh' >> ~/.zshrc
  fish  irbench completion fish > ~/.config/fish/completions/irbench.fish
"""


@click.command("completion", epilog=_EXAMPLES)
@click.argument("shell", type=OneOf(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a completion script for a shell."""
    from irbench.features.completion.shells import completion_class
    from irbench.terminal.console import print_data
    from irbench.terminal.groups import COMPLETION

    print_data(completion_class(shell)(ctx.find_root().command, {}, "irbench", COMPLETION).source(), None)
