"""The mean of several parsers' weights, as one parser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import _core

#: Places of a model's state: the longest arcs by tags, and the weights of groups, relations and pruner.
_LONGEST, _WEIGHTS = 2, (4, 7, 9)


def mean_model(models: Sequence[_core.ParserModel]) -> _core.ParserModel:
    """Average weights that several runs learned, with the same tags, relations and numbers of weights.

    An arc's score is then the mean of its scores under the models. The longest arcs are those that any of them knows.
    """
    if len(models) == 1:
        return models[0]
    mean = list(models[0].state())
    for n, model in enumerate(models[1:], 2):
        state = model.state()
        mean[_LONGEST] = np.maximum(mean[_LONGEST], state[_LONGEST])
        for at in _WEIGHTS:
            mean[at] = mean[at] + (state[at] - mean[at]) / np.float32(n)
    return _core.ParserModel(*mean)
