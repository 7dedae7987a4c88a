"""Executables of nodes, which import their node's module when they are called."""

# Few imports: until the signals are handled, they end the process with a traceback.
import os
import signal
from importlib import import_module


class Executable:
    """Executable of one node, for a package's console scripts.

    The imports of a node take seconds. SIGINT and SIGTERM during that time end the process silently
    with exit code 0: there is nothing to release yet.

    Attributes:
        module: Module whose `main` runs the node.
    """

    def __init__(self, module: str):
        self.module = module

    def __call__(self) -> int:
        """Import the module, run the node, and return its exit code."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: os._exit(0))
        return import_module(self.module).main()
