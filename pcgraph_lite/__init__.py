"""Predictive coding on arbitrary graph topologies: the engine and everything the book needs around it."""

from . import equations, hardware
from .engine import constructors as topology
from .engine.graph import PCGraph
from .engine.inference import Settings, relax
from .engine.learning import Training, accuracy, fit, minus_energy
from .engine.query import Answer, observed, query
from .engine.topology import Topology

__version__ = "0.1.0"
__all__ = ["Answer", "PCGraph", "Settings", "Topology", "Training", "accuracy", "equations", "fit", "hardware",
           "minus_energy", "observed", "query", "relax", "topology"]
