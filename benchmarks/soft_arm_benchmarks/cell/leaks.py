"""Resources that a soak test leaves behind in its process."""

import gc
import os
import threading

MEMORY_DRIFT_MIB = 50.0  # the first requests take less than 10 MiB


def held() -> dict[str, int]:
    """Return the numbers of threads and of open files."""
    return {'threads': threading.active_count(), 'open files': len(os.listdir('/proc/self/fd'))}


def resident_mib() -> float:
    """Return the resident memory of this process [MiB]."""
    with open('/proc/self/statm', encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2**20


def leaks(held_before: dict[str, int], before_mib: float) -> list[str]:
    """Compare resources and memory with those before; return one line for each that grew."""
    gc.collect()
    after, after_mib = held(), resident_mib()
    found = [
        f'{name}: {before} before, {after[name]} after'
        for name, before in held_before.items()
        if after[name] > before
    ]
    if after_mib - before_mib > MEMORY_DRIFT_MIB:
        found.append(f'memory: {before_mib:.0f} MiB before, {after_mib:.0f} MiB after')
    return found
