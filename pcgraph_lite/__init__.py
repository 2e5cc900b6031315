"""Predictive coding on arbitrary graph topologies: the engine and everything the book needs around it."""
