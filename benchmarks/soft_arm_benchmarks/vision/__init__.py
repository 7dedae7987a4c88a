"""Evaluation of the detectors: bags, labelled data sets, synthetic data, bounds and benchmarks."""
