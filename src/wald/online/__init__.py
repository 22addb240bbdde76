"""Online learners that stop reading an example once it is clear that it will not change the model.

A learner that updates only on mistakes wastes most of its time on examples that it already gets right. Attention
stops reading such an example's features early; the examples that do change the model are read in full.
"""

from .boosting import AttentiveBoosting
from .passive_aggressive import AttentivePassiveAggressive
from .pegasos import AttentivePegasos
from .perceptron import AttentivePerceptron

__all__ = ["AttentiveBoosting", "AttentivePassiveAggressive", "AttentivePegasos", "AttentivePerceptron"]
