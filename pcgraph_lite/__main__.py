"""``python -m pcgraph_lite`` is the command ``pcgraph``."""

from .cli import main

if __name__ == "__main__":
    main()
