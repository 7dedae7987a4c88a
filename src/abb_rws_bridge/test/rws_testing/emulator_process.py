"""Emulated controller in a separate process, with its control port."""

import json
import select
import subprocess
import sys
import urllib.request

from rws_testing.cell import USER


class EmulatorProcess:
    """Process of the emulator; `end` kills it."""

    def __init__(self, port: int = 0, *more: str):
        command = [sys.executable, '-m', 'abb_rws_emulator.cli', '--json', '--control-port', '0']
        command += ['--port', str(port), '--user', USER.user, '--password', USER.password, *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        ready, _, _ = select.select([self.process.stdout], [], [], 120.0)
        assert ready, 'the emulator did not start within 120 s'
        ports = json.loads(self.process.stdout.readline())
        self.port, self.control_port = ports['port'], ports['control_port']

    def state(self) -> dict:
        with urllib.request.urlopen(
            f'http://127.0.0.1:{self.control_port}/state', timeout=60.0
        ) as answer:
            return json.load(answer)

    def act(self, name: str, **values) -> None:
        self._post(f'actions/{name}', values)

    def spoil(self, **faults) -> None:
        """Switch faults on; without arguments switch all off."""
        self._post('faults', faults)

    def _post(self, path: str, values: dict) -> None:
        request = urllib.request.Request(
            f'http://127.0.0.1:{self.control_port}/{path}',
            json.dumps(values).encode(),
            method='POST',
        )
        urllib.request.urlopen(request, timeout=60.0).close()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=60.0)
