"""Online learners that stop reading an example once it is clear that it will not change the model.

A learner that updates only on mistakes wastes most of its time on examples that it already gets right. Attention
stops reading such an example's features early; the examples that do change the model are read in full.
"""

from wald.online.boosting import AttentiveBoosting
from wald.online.passive_aggressive import AttentivePassiveAggressive
from wald.online.pegasos import AttentivePegasos
from wald.online.perceptron import AttentivePerceptron
from wald.online.stop_error import StopError

__all__ = ["AttentiveBoosting", "AttentivePassiveAggressive", "AttentivePegasos", "AttentivePerceptron", "StopError"]
