"""One thread and no deadline: tests share the machine with each other."""

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("book", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("book")
