"""Error of the benchmarks."""

from soft_arm_io.errors import InputError


class BenchError(InputError):
    """A figure that could not be measured; one line."""
