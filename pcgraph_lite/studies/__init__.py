"""What the paper does with graphs: its tasks, memories, convergence, drawings; and the oracles that check them."""
