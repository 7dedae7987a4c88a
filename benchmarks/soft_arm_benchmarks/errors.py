"""Error of the benchmarks."""


class BenchError(RuntimeError):
    """A figure that could not be measured; one line."""
