"""Read back what ``scripts/export_live.py`` wrote, as the pages do."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor


def content(path: Path) -> Any:
    """What a file of ``book/live/data`` holds."""
    return json.loads(path.read_text(encoding="utf-8").partition(" = ")[2].rstrip().removesuffix(";"))


def restored(block: Mapping[str, Any]) -> Tensor:
    """The matrix ``(source, target)`` of an exported block, float32, as the page multiplies with it."""
    scale = np.frombuffer(base64.b64decode(block["scale"]), "<f4")
    whole = np.frombuffer(base64.b64decode(block["data"]), np.int8).astype(np.float32)
    return torch.from_numpy(whole.reshape(block["rows"], block["cols"]) * scale[:, None])
