"""TensorFlow and Keras models, exported to a form that every backend can run."""

from irbench.terminal.commands import Command

COMMANDS = (
    Command("export", "Models", "Export TensorFlow and Keras models to a form that every backend can run.", rank=0),
)
