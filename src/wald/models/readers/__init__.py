"""How the fitted models of a library are read as terms: one file a kind of model."""
