"""What an estimator in a file has in common with the model that the file holds, by the names of attributes."""

from __future__ import annotations

from typing import Any

from ..models import AdditiveModel
from ..models.protocols import training_rows

#: What stands for an attribute that is that of the model.
SHARED = "the model's"
#: The training rows of machines, which may be those of the model.
VECTORS = ("support_vectors_", "X_fit_")


def shared_attributes(model: AdditiveModel, n_features: int | None) -> dict[str, Any]:
    """The attributes that may be those of a model; steps behind a vectorizer have other columns (None)."""
    held = {
        **dict.fromkeys(("classes_", "classes"), model.classes),
        **dict.fromkeys(VECTORS, training_rows(model.terms)),
    }
    if n_features is not None:
        held |= {"n_features_in_": n_features, "feature_names_in_": model.feature_names_in}
    return held


def must_share(held: dict[str, Any], name: str) -> bool:
    """Whether an attribute must be that of the model."""
    return name in held and name not in VECTORS
