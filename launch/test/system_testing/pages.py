"""Execution of the shell and Python blocks of README.md and of the pages in docs/.

The mark after the language, which a rendered page does not show, selects the treatment:

    sh              run in bash, in a copy of the workspace that has nothing in out/
    sh rig          run with the virtual rig (a system test)
    sh cell         run with the virtual gripper cell (a system test)
    sh launch       a launch: run with --print; the system tests start the rig and the cell
    sh ci           run by the CI anyway, or takes minutes; `make` targets must exist
    sh ros          needs ROS 2 from apt
    sh hardware     needs the real devices
    python          run; the blocks of a page share one namespace
    python hardware needs the real devices
    text output     output of the block above; `..` stands for anything
    yaml, text NAME written to the file NAME.EXT, for the blocks below it

In every `sh` block, regardless of its mark, each softarm command and option must exist.
A line whose comment mentions Ctrl-C gets it after some seconds.
"""

import contextlib
import io
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    page
    for pattern in ('*.md', 'docs/**/*.md', 'src/*/README.md', 'examples/*.md')
    for page in ROOT.glob(pattern)
    if page.name != 'CHANGELOG.md' and 'generated' not in page.parts
)
MARKS = {'sh': {'', 'rig', 'cell', 'launch', 'ci', 'ros', 'hardware'}, 'python': {'', 'hardware'}}
UNTIL_INTERRUPT_S = 6
_FENCE = re.compile(r'(?ms)^( *)```([^\n`]*)\n(.*?)^\1```$')


@dataclass(frozen=True)
class Block:
    """Fenced block: start, language, mark and lines."""

    place: str
    language: str
    mark: str
    text: str


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    content = page.read_text()
    found = []
    for match in _FENCE.finditer(content):
        language, _, mark = match[2].strip().partition(' ')
        line = content.count('\n', 0, match.start()) + 1
        text = re.sub(rf'(?m)^{match[1]}', '', match[3])
        found.append(Block(f'{page.relative_to(ROOT)}:{line}', language, mark, text))
    return found


def pages_of(mark: str) -> list[Path]:
    """Return the pages with blocks of a mark."""
    return [page for page in PAGES if mark in {block.mark for block in blocks(page)}]


def name_of(page: Path) -> str:
    """Return the path of a page in the repository."""
    return str(page.relative_to(ROOT))


def run(page: Path, marks: set[str], folder: Path) -> int:
    """Run the blocks of a page with one of these marks in a folder; return their number."""
    for entry in ROOT.iterdir():
        if entry.name not in ('out', '.git'):
            (folder / entry.name).symlink_to(entry)
    namespace, output, count = {'__name__': page.stem}, None, 0
    with contextlib.chdir(folder):
        for block in blocks(page):
            if '.' in block.mark:
                (folder / block.mark).write_text(block.text)
            elif block.language in ('sh', 'python'):
                output = None
                if block.mark in marks:
                    run_block = _run_shell if block.language == 'sh' else _run_python
                    output, count = run_block(block, namespace), count + 1
            elif block.mark == 'output' and output is not None:
                _compare(block, output)
    return count


def _run_python(block: Block, namespace: dict) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(block.text, block.place, 'exec'), namespace)
    return out.getvalue()


def _run_shell(block: Block, _) -> str:
    script = block.text.replace('\\\n', ' ')
    if block.mark == 'launch':
        script = re.sub(r'(?m)^(softarm launch [^#\n]*)', r'\1 --print ', script)
    wait = f'timeout --preserve-status -s INT {UNTIL_INTERRUPT_S} '
    script = re.sub(r'(?m)^(?=softarm .*Ctrl-C)', wait, script)
    # Exit code 1: a finding, such as a busy machine.
    script = re.sub(r'(?m)^(softarm doctor[^#\n]*)', r'\1 || [ $? = 1 ] ', script)
    done = subprocess.run(
        ['bash', '-c', f'set -eo pipefail\n. ./env.sh\n{script}'],
        capture_output=True,
        text=True,
        timeout=180,
        env={**os.environ, 'MPLBACKEND': 'Agg', 'SOFT_ARM_RIGS': str(Path.cwd() / 'rigs')},
    )
    assert done.returncode in (0, 130), f'{block.place}:\n{script}\n{done.stdout}{done.stderr}'
    return done.stdout


def _compare(block: Block, output: str) -> None:
    for line in block.text.splitlines():
        pattern = re.escape(line.strip()).replace(r'\.\.', '.*')
        assert re.search(rf'(?m)^\s*{pattern}\s*$', output), (
            f'{block.place}: no line {line!r} in:\n{output}'
        )
