"""The command ``pcgraph`` in the process of the test."""

import pytest

from reproduction import cli


def call(*arguments: str) -> int:
    """Run it; its exit code."""
    with pytest.raises(SystemExit) as stopped:
        cli.main(list(arguments))
    return stopped.value.code
