"""Fit a differentiable simulation to the states: values, intervals, verdicts."""
