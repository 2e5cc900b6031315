"""The engine: topologies, graphs, relaxation, queries and learning (section 2 of the paper)."""
