"""What a source names is a function that makes a model, or the model itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.spi.user_functions import call_user_function

FILE = """
class Net:
    def __call__(self, x):
        return x


class Factory:
    def __call__(self):
        return "made"


def build():
    return "made"


net = Net()
pair = (net, ([1.0],))
factory = Factory()
SIZE = 3
"""


def is_net(named: object) -> bool:
    model = named[0] if isinstance(named, tuple) else named
    return type(model).__name__ == "Net"


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "nets.py").write_text(FILE)
    return str(tmp_path / "nets.py")


@pytest.mark.parametrize("name", ["build", "factory"])
def test_what_makes_a_model_is_called(source: str, name: str) -> None:
    assert call_user_function(f"{source}:{name}", is_net) == "made"


def test_a_model_alone_or_with_its_inputs_is_taken_as_it_is(source: str) -> None:
    assert is_net(call_user_function(f"{source}:net", is_net))
    model, (values,) = call_user_function(f"{source}:pair", is_net)
    assert (type(model).__name__, values) == ("Net", [1.0])
    with pytest.raises(TypeError, match="'x'"):
        call_user_function(f"{source}:net")


@pytest.mark.parametrize("name", ["SIZE", "nothing"])
def test_anything_else_is_no_function(source: str, name: str) -> None:
    with pytest.raises(IrbenchError, match=f"has no function {name}") as caught:
        call_user_function(f"{source}:{name}", is_net)
    assert caught.value.hint
