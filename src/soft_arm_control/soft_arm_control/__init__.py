"""Closed-loop tip control and the experiments of the paper."""
