"""Rows that the engine refuses among rows of a regressor whose way back from its target takes no infinite score."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

from wald import EarlyExitRegressor

pd = pytest.importorskip("pandas")


@pytest.mark.filterwarnings("ignore:The column .k. holds None")
@pytest.mark.parametrize("target", [StandardScaler(), QuantileTransformer(n_quantiles=20)], ids=repr)
def test_objects_and_unmet_kinds_behind_a_transformed_target(target):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=300), "k": rng.choice(["x", "y"], 300), "i": rng.integers(-3, 3, 300)},
    )
    columns = ColumnTransformer(
        [
            ("one-hot", OneHotEncoder(handle_unknown="ignore"), ["k"]),
            ("scaled", make_pipeline(SimpleImputer(), StandardScaler()), ["a"]),
        ],
        remainder="passthrough",
    )
    regressor = make_pipeline(columns, Ridge())
    model = TransformedTargetRegressor(regressor, transformer=target).fit(frame, frame.a + 2 * frame.i)
    fast = EarlyExitRegressor(model, risk=0).fit(frame)
    unmet = frame.assign(k=frame.k.astype(object).where(frame.index > 5, None))
    for given in (frame.astype(object), frame.assign(i=frame.i.astype(object)), unmet.astype(object)):
        for n in (1, 5, 300):
            np.testing.assert_allclose(fast.predict(given[:n]), model.predict(given[:n]), rtol=1e-7, atol=1e-9)
