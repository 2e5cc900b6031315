"""The reproduction of the paper with ``pcgraph_lite``: settings, trained models, records, verdicts and the book."""
