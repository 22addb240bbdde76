"""What runs a plan: rows in, codes and stages out. It knows arrays, stages and thresholds, and no family of models."""
