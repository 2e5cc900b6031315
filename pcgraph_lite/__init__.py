"""Predictive coding on arbitrary graph topologies.

Make a graph with ``topology.generative`` (or another constructor, or ``topology.from_networkx``) and ``PCGraph``, train
it with ``fit``, and ask it with ``query(graph, clamp=..., init=..., do=...)``, ``sample`` and ``counterfactual``.
``save`` and ``load`` keep it. ``help(pcgraph_lite.query)`` explains one of them, with an example. Data, measures, other
models and studies are in ``pcgraph_lite.images``, ``baselines`` and ``studies``.
"""

from importlib import import_module

__version__ = "0.1.0"
HOMES = {"equations": ".equations", "hardware": ".hardware", "topology": ".engine.topology",
         "Topology": ".engine.topology", "Edges": ".engine.topology", "PCGraph": ".engine.graph",
         "Activation": ".engine.activations",
         "Settings": ".engine.inference",
         "relax": ".engine.inference", "Training": ".engine.learning", "accuracy": ".engine.learning",
         "fit": ".engine.learning", "minus_energy": ".engine.learning", "Answer": ".engine.query",
         "observed": ".engine.query", "query": ".engine.query", "Scale": ".engine.scale", "load": ".engine.saving",
         "save": ".engine.saving", "counterfactual": ".engine.counterfactual", "Samples": ".engine.sampling",
         "sample": ".engine.sampling"}
ROOMS = ("baselines", "engine", "errors", "images", "studies")             # modules and packages of their own
__all__ = list(HOMES)


def __dir__() -> list[str]:
    """What an interactive shell completes."""
    return [*HOMES, *ROOMS]


def __getattr__(name: str) -> object:
    """A public name is imported when it is first used: commands that need no torch start in a tenth of the time."""
    if name in ROOMS:
        return import_module(f".{name}", __name__)
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(HOMES[name], __name__)
    globals()[name] = getattr(module, name, module)            # something in a module, or the module itself
    return globals()[name]
