"""Predictive coding on arbitrary graph topologies.

Make a graph with ``topology.generative`` (or another constructor, or ``topology.from_networkx``) and ``PCGraph``, train
it with ``fit``, and ask it with ``query(graph, clamp=..., init=..., do=...)``, ``sample`` and ``counterfactual``.
``save`` and ``load`` keep it. ``help(pcgraph_lite.query)`` explains one of them, with an example. Data, measures, other
models and studies are in ``pcgraph_lite.images``, ``baselines`` and ``studies``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:                                                          # what editors and type checkers see
    from . import baselines as baselines
    from . import engine as engine
    from . import equations as equations
    from . import errors as errors
    from . import hardware as hardware
    from . import images as images
    from . import studies as studies
    from .engine import topology as topology
    from .engine.activations import Activation as Activation
    from .engine.counterfactual import counterfactual as counterfactual
    from .engine.graph import PCGraph as PCGraph
    from .engine.inference import Settings as Settings
    from .engine.inference import relax as relax
    from .engine.learning import Training as Training
    from .engine.learning import accuracy as accuracy
    from .engine.learning import fit as fit
    from .engine.learning import minus_completion_error as minus_completion_error
    from .engine.learning import minus_energy as minus_energy
    from .engine.query import Answer as Answer
    from .engine.query import observed as observed
    from .engine.query import query as query
    from .engine.sampling import Samples as Samples
    from .engine.sampling import sample as sample
    from .engine.saving import load as load
    from .engine.saving import save as save
    from .engine.scale import Scale as Scale
    from .engine.topology import Edges as Edges
    from .engine.topology import Topology as Topology

__version__ = "0.1.0"
HOMES = {"equations": ".equations", "hardware": ".hardware", "topology": ".engine.topology",
         "Topology": ".engine.topology", "Edges": ".engine.topology", "PCGraph": ".engine.graph",
         "Activation": ".engine.activations",
         "Settings": ".engine.inference",
         "relax": ".engine.inference", "Training": ".engine.learning", "accuracy": ".engine.learning",
         "fit": ".engine.learning", "minus_completion_error": ".engine.learning",
         "minus_energy": ".engine.learning", "Answer": ".engine.query",
         "observed": ".engine.query", "query": ".engine.query", "Scale": ".engine.scale", "load": ".engine.saving",
         "save": ".engine.saving", "counterfactual": ".engine.counterfactual", "Samples": ".engine.sampling",
         "sample": ".engine.sampling"}
ROOMS = ("baselines", "engine", "errors", "images", "studies")             # modules and packages of their own
__all__ = list(HOMES)


def __dir__() -> list[str]:
    """What an interactive shell completes."""
    return [*HOMES, *ROOMS]


def _imported(name: str, package: str = __name__, rooms: tuple[str, ...] = ROOMS) -> Any:
    """A public name is imported when it is first used: commands that need no torch start in a tenth of the time."""
    if name in rooms:
        return import_module(f".{name}", package)
    if package != __name__ or name not in HOMES:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module = import_module(HOMES[name], __name__)
    globals()[name] = getattr(module, name, module)            # something in a module, or the module itself
    return globals()[name]


if not TYPE_CHECKING:                                                      # to whom an unknown name is an error
    __getattr__ = _imported
