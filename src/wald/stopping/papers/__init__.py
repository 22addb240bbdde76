"""The papers' formulas for boundaries, as published."""
