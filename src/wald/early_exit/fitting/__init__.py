"""What `fit` does with rows: it splits them, plans, races plans against the model, and keeps the cheapest."""
