"""The benchmark behind ``pcgraph bench``: speed, memory and scaling of the engine, beside what bounds them.

| file | holds |
|---|---|
| ``timing.py`` | interleaved repeats, so that ratios survive a shared machine |
| ``memory.py`` | the most memory that a call holds |
| ``resident.py`` | the same for a whole process, libraries included |
| ``edges.py`` | memory and time of large sparse graphs against their edges |
| ``floor.py`` | the matrix products that a work needs, and nothing else: the time no engine can beat |
| ``textbook.py`` | the same training batch as a plain loop on the full n x n matrix |
| ``training.py`` | one training batch: fully connected, layered, generative; memory |
| ``queries.py`` | a query: plain steps against the accelerated solver |
| ``counting.py`` | the products that a piece of code asks for |
| ``plans.py`` | assemblies: sparse against dense storage |
| ``replicas.py`` | many small graphs at once against one after the other |
| ``quality.py`` | seconds to a test accuracy, beside backpropagation |
| ``rows.py`` | what a row of the result is, and when its target is met |
| ``report.py`` | tables, figures and files |
| ``scaling.py`` | time against N, B, T and the number of edges |
| ``suite.py`` | all rows by name, and the run |

It is part of the checkout and not of the installed package.
"""

import os

os.environ.setdefault("KINETO_LOG_LEVEL", "99")    # torch's profiler would print its starts and stops; read at import
