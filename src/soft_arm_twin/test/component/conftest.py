"""Headless Chromium, and the server of the waving tube in another process."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ('chromium', 'google-chrome'))), None)
PATIENCE_S = 300  # seconds suffice where the machine is idle
TEST = Path(__file__).resolve().parents[1]
FLAGS = (
    '--no-sandbox',
    '--use-angle=swiftshader',  # draws without a GPU
    '--enable-unsafe-swiftshader',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
)
# What a page sends, and when [ms], in the order of sending.
RECORD_SENT = """
window.sent = [];
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (text) {
  window.sent.push({ at_ms: performance.now(), ...JSON.parse(text) });
  return send.call(this, text);
};"""


@pytest.fixture(scope='module')
def browser():
    """One per file: while it is open, asyncio.run() fails in this process."""
    api = pytest.importorskip('playwright.sync_api', reason='playwright is not installed')
    if CHROMIUM is None:
        pytest.skip('no Chromium: on Debian, sudo apt-get install chromium')
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


class Server:
    """The waving tube in a process that can be stopped, continued and killed."""

    def __init__(self, port=0):
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'twin_testing', str(port)],
            cwd=TEST,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.url = self._process.stderr.readline().strip()
        assert self.url.startswith('http'), self.url + self._process.stderr.read()
        self.port = int(self.url.rstrip('/').rpartition(':')[2])

    def stop(self):
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()


@pytest.fixture(scope='module')
def server():
    process = Server()
    yield process
    process.kill()


@pytest.fixture
def start_server():
    started = []

    def start(port=0):
        started.append(Server(port))
        return started[-1]

    yield start
    for process in started:
        process.kill()


class Visit:
    """One page as a person sees it, with what it asked for, said and sent."""

    def __init__(self, browser, url, width, height, **context):
        self.requests, self.bytes, self.complaints = [], 0, []
        self.context = browser.new_context(viewport={'width': width, 'height': height}, **context)
        self.context.add_init_script(RECORD_SENT)
        self.page = page = self.context.new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        page.on('request', lambda request: self.requests.append(request.url))
        page.on('console', self._console)
        page.on('pageerror', lambda error: self.complaints.append(str(error)))
        page.on('websocket', lambda s: s.on('framereceived', self._received))
        page.on('response', lambda r: setattr(self, 'bytes', self.bytes + _size(r)))
        page.goto(url)
        page.get_by_role('button', name='Vent').wait_for()
        self.until("document.getElementById('link').title.includes('pictures')")

    def _console(self, message):
        if message.type in ('error', 'warning') and 'GPU stall' not in message.text:
            self.complaints.append(message.text)

    def _received(self, payload):
        self.bytes += len(payload)

    def control(self, role, name, **other):
        return self.page.get_by_role(role, name=name, exact=True, **other)

    def take_control(self):
        self.control('button', 'Take control').click()
        self.page.get_by_text('You have control').wait_for()

    def commands(self):
        """Return the sent commands as (control, value), in order."""
        sent = self.page.evaluate('window.sent')
        return [(s['control'], s['value']) for s in sent if s['type'] == 'command']

    def until(self, expression):
        """Wait until JavaScript is true. (The page's own policy forbids `wait_for_function`.)"""
        deadline_s = time.monotonic() + PATIENCE_S
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline_s, f'never true: {expression}'
            self.page.wait_for_timeout(50)

    def wait_for_command(self, control, value):
        self.until(
            f'window.sent.some((s) => s.control === "{control}"'
            f' && JSON.stringify(s.value) === {json.dumps(json.dumps(value))})'
        )


def _size(response):
    return int(response.headers.get('content-length', 0))


@contextmanager
def _visits(browser):
    """Open pages; in the end none of them may have complained or asked elsewhere."""
    visits = []

    def open_(server, width=700, height=600, forgives='', **context):
        visits.append((Visit(browser, server.url, width, height, **context), server, forgives))
        return visits[-1][0]

    yield open_
    for visit_, server, forgives in visits:
        visit_.context.close()
        assert [c for c in visit_.complaints if not forgives or forgives not in c] == []
        assert {url for url in visit_.requests if not url.startswith(server.url)} == set()


@pytest.fixture
def visit(browser):
    with _visits(browser) as open_:
        yield open_


@pytest.fixture(scope='module')
def page(browser, server):
    """One page for all tests of a file that change nothing for the next."""
    with _visits(browser) as open_:
        yield open_(server)
