"""Captures with known truth, as the stages before `parameters` hand them over, by other simulators or finer steps, with noise."""
