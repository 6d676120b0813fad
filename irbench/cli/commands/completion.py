"""``irbench completion``: print the completion script for a shell."""

from __future__ import annotations

import click

from irbench.cli.options.groups import OneOf

_EXAMPLES = """\b
To enable it:
  bash  irbench completion bash > ~/.irbench.bash; echo '. ~/.irbench.bash' >> ~/.bashrc
  zsh   irbench completion zsh > ~/.irbench.zsh; echo '. ~/.irbench.zsh' >> ~/.zshrc
  fish  irbench completion fish > ~/.config/fish/completions/irbench.fish
"""


@click.command("completion", epilog=_EXAMPLES)
@click.argument("shell", type=OneOf(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes commands, options, backends, backend options, models and runs."""
    from irbench.cli import COMPLETION, cli
    from irbench.cli.options.shells import completion_class
    from irbench.cli.output.console import print_data

    print_data(completion_class(shell)(cli, {}, "irbench", COMPLETION).source(), None)
