"""Compiled plans: rows in any form in; answers, costs and stages out. They know nothing of how `fit` found the plan."""
