"""The parts of every certified prediction: scores of stages, boundaries, tests and certificates."""
