"""One thread, no deadline, one seed: tests share the machine with each other, and their order must not matter."""

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("book", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("book")


@pytest.fixture(autouse=True)
def _denormals() -> None:
    """`hardware.prepare` flushes denormals for the whole process; hypothesis refuses to draw floats after that."""
    torch.set_flush_denormal(False)


@pytest.fixture(autouse=True)
def _seed() -> None:
    """For inputs that a test draws without a generator of its own; the package never uses the global one."""
    torch.manual_seed(0)
