"""The models of the zoo, which can be exported by name.

It lists the models of the zoo with their family, parameters, multiply-accumulates and inputs. No framework is
imported, and nothing is measured. docs/optimizing.md uses the names.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("models", "Models", "List the models of the zoo.", only_prints=("",), rank=0),)
PAGE = "docs/models.md"
