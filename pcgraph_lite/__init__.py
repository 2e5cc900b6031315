"""Predictive coding on arbitrary graph topologies: the engine and everything the book needs around it."""

from . import hardware, topology
from .graph import PCGraph
from .inference import Settings, relax
from .learning import Training, accuracy, fit, minus_energy
from .query import Answer, observed, query
from .topology import Topology

__version__ = "0.1.0"
__all__ = ["Answer", "PCGraph", "Settings", "Topology", "Training", "accuracy", "fit", "hardware", "minus_energy",
           "observed", "query", "relax", "topology"]
