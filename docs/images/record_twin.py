"""Record the animated pictures of README from the real page, in Chromium without a window.

    python docs/images/record_twin.py tip        # `softarm view`: a tip is dragged, the arm follows
    python docs/images/record_twin.py cell       # `softarm twin` beside the virtual gripper cell

Each picture is taken when the page has drawn a step, so a slow machine records the same as a fast
one; the cell moves in real time and is shown faster.
"""

import argparse
import io
import math
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from tqdm import tqdm

from soft_arm_io.command_line import CommandLine

CHROMIUM = '/usr/bin/chromium'
FLAGS = ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']
WINDOW_PX = 1120, 640
WIDTH = 900  # of the picture [px]
PERIOD_MS = 90
QUALITY = 70
WAIT_MS = 600_000  # the solver is compiled once on a machine
STEPS = 84
CELL_STEPS = 60
SETTLED_MS = 250
SPEED_PERCENT = 1
MOVES_DEG = {  # before which picture the robot begins to move, and where to
    1: {1: 60, 2: 25, 3: -20},
    15: {1: -60, 2: -10, 3: 10},
    43: {1: 0, 2: 0, 3: 0},
}
FOLDER = Path(__file__).parent


def record_tip(page: Page, shoot: Callable[[], None]) -> None:
    """Drag the tip's handle along a closed curve."""
    page.wait_for_function(
        "() => { const t = document.querySelector('#diagnostics-card').innerText;"
        " return t.includes('inverse kinematics') && !/loading|compil/.test(t); }",
        timeout=WAIT_MS,
    )
    box = page.locator('.handle').first.bounding_box()
    assert box is not None
    x, y = box['x'] + box['width'] / 2, box['y'] + box['height'] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for step in tqdm(range(STEPS), 'pictures'):
        turn = 2.0 * math.pi * step / STEPS
        page.mouse.move(x + 95.0 * math.sin(turn), y - 38.0 * math.sin(turn) ** 2)
        page.wait_for_timeout(SETTLED_MS)
        shoot()
    page.mouse.up()


def record_cell(page: Page, shoot: Callable[[], None]) -> None:
    """Move the robot's joints there and back."""
    page.get_by_role('button', name='Take control').click()
    press(page, 'Motors on')
    put(page, 'Speed', SPEED_PERCENT)
    page.get_by_text('controller motoron').wait_for()
    for step in tqdm(range(CELL_STEPS), 'pictures'):
        if step in MOVES_DEG:
            for joint, angle_deg in MOVES_DEG[step].items():
                put(page, f'abb_joint_{joint}', angle_deg)
            press(page, 'Move the joints there')
        shoot()


def press(page: Page, name: str) -> None:
    """Press a button."""
    page.get_by_role('button', name=name, exact=True).click()


def put(page: Page, name: str, value: float) -> None:
    """Write a number into the field of a slider."""
    field = page.get_by_role('spinbutton', name=name).first
    field.fill(str(value))
    field.press('Enter')


@contextmanager
def served(*command: str) -> Iterator[str]:
    """Run a command that serves a page; yield its address."""
    words = [*command, '--no-browser', '--port', '0']
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split(': ')[1].strip()
        process.terminate()


def served_tip(_folder: Path) -> AbstractContextManager[str]:
    """Run `softarm view`; yield its address."""
    return served('softarm', 'view', 'two_module_arm', '--kinematics')


@contextmanager
def served_cell(folder: Path) -> Iterator[str]:
    """Run the virtual cell and the twin; yield its address."""
    from soft_arm_calibration.ros.rig_process import CELL, driver_is_running, virtual_launch

    with virtual_launch(CELL, 1, folder / 'cell.log'):
        if not driver_is_running('gripper', 60.0):
            raise SystemExit((folder / 'cell.log').read_text())
        with served('softarm', 'twin') as address:
            yield address


RECORDED = {
    'tip': (served_tip, record_tip, 'drag_the_tip.webp'),
    'cell': (served_cell, record_cell, 'gripper_cell.webp'),
}


def main() -> None:
    """Record one picture."""
    parser = CommandLine(
        prog='docs/images/record_twin.py',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('what', choices=RECORDED)
    parser.add_argument('-o', '--output', type=Path, help='WebP file (default: beside this file)')
    sys.exit(parser.answer(None, _record))


def _record(options: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end what runs, as after Ctrl-C
    served, record, name = RECORDED[options.what]
    pictures: list[Image.Image] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with served(Path(folder)) as url:
            width, height = WINDOW_PX
            page = browser.new_page(
                viewport={'width': width, 'height': height}, color_scheme='light'
            )
            page.set_default_timeout(WAIT_MS)
            page.goto(url)
            page.wait_for_selector('body[data-beat=a]')
            page.locator('#legend > summary').click()  # folded, it hides less
            record(page, lambda: pictures.append(small(page.screenshot())))
        browser.close()
    output = options.output or FOLDER / name
    pictures[0].save(
        output,
        save_all=True,
        append_images=pictures[1:],
        duration=PERIOD_MS,
        loop=0,
        quality=QUALITY,
        method=4,
    )
    megabytes = output.stat().st_size / 1e6
    sys.stdout.write(f'{output}: {len(pictures)} pictures, {megabytes:.2f} MB\n')
    return 0


def small(png: bytes) -> Image.Image:
    """Return a picture as wide as README shows it."""
    picture = Image.open(io.BytesIO(png)).convert('RGB')
    height = round(picture.height * WIDTH / picture.width)
    return picture.resize((WIDTH, height), Image.Resampling.LANCZOS)


if __name__ == '__main__':
    main()
