"""From a specification to trained weights, from numbers to verdicts."""
