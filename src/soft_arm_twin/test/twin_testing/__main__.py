"""Serve the waving tube: `cd src/soft_arm_twin/test; python -m twin_testing [PORT]`."""

import asyncio
import contextlib
import sys

from soft_arm_twin.server.serve import serve
from twin_testing.waving_tube import WavingTube

with contextlib.suppress(KeyboardInterrupt):
    port = int(sys.argv[1]) if sys.argv[1:] else 8765
    asyncio.run(serve(WavingTube(), port=port, ready=lambda url: sys.stderr.write(f'{url}\n')))
