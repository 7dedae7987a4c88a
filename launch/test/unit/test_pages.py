"""The blocks of README.md and docs/ run, their links and commands exist, and the site builds.

`system_testing.pages` says which blocks are run here and how the others are held.
"""

import re
import shlex
import subprocess
import sys

import pytest

from system_testing.pages import MARKS, PAGES, ROOT, blocks, run

sys.path.insert(0, str(ROOT / 'docs'))
from generated_pages import help_of_commands  # noqa: E402

SHELL = [b for page in PAGES for b in blocks(page) if b.language == 'sh']
HERE = {'', 'launch'}
RUNS_HERE = [
    page
    for page in PAGES
    if any(b.language in ('sh', 'python') and b.mark in HERE for b in blocks(page))
]


def name(value):
    return value.place if hasattr(value, 'place') else str(value.relative_to(ROOT))


@pytest.mark.parametrize('page', PAGES, ids=name)
def test_every_block_says_how_it_is_held(page):
    for block in blocks(page):
        assert block.language, f'{block.place}: give the language of the block'
        assert block.language not in ('bash', 'shell', 'console'), f'{block.place}: write sh'
        assert block.mark in MARKS.get(block.language, {block.mark}), (
            f'{block.place}: {block.mark!r} is none of {MARKS[block.language]}'
        )


@pytest.mark.parametrize('page', RUNS_HERE, ids=name)
def test_blocks_run(page, tmp_path):
    assert run(page, HERE, tmp_path) > 0


@pytest.fixture(scope='module')
def helps():
    return help_of_commands()


@pytest.mark.parametrize('block', SHELL, ids=name)
def test_commands_and_their_options_exist(block, helps):
    for line in block.text.replace('\\\n', ' ').splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ['make']:
            target = words[1] if len(words) > 1 else 'help'
            assert re.search(rf'(?m)^{target}:', (ROOT / 'Makefile').read_text()), line
        if words[:1] != ['softarm'] or words[1].startswith('-'):
            continue
        known = [' '.join(words[:n]) for n in (4, 3, 2) if ' '.join(words[:n]) in helps]
        assert known, f'{block.place}: unknown command {line!r}'
        for option in (w.split('=')[0] for w in words if w.startswith('--') and w != '--help'):
            assert re.search(rf'(?<!\S){option}\b', helps[known[0]]), (
                f'{block.place}: {known[0]} has no option {option}'
            )


def test_the_site_builds_without_a_warning(tmp_path):
    command = [sys.executable, '-m', 'sphinx', '-W', '--keep-going', '-q', '-b', 'html']
    done = subprocess.run(
        [*command, '-d', tmp_path / 'doctrees', ROOT / 'docs', tmp_path / 'site'],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / 'site' / 'index.html').is_file()


LINK = re.compile(r'\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)')


@pytest.mark.parametrize('page', PAGES, ids=name)
def test_links_lead_somewhere(page):
    """Also on a code host, which knows nothing of Sphinx."""
    for link in LINK.findall(re.sub(r'(?ms)^ *```.*?^ *```$', '', page.read_text())):
        assert (page.parent / link).exists(), f'{page}: {link}'
