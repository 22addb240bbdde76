"""What every certified prediction needs: scores of stages, boundaries, tests and certificates."""
