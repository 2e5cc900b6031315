"""The paper's uses of graphs: tasks, memories, convergence and drawings, and the oracles that check them."""
