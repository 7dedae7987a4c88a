"""Sphinx extension: write the page of all commands from their `--help`; keep docstrings intact."""

import contextlib
import io
import os
import re
import shutil
from importlib.metadata import entry_points
from pathlib import Path

_SUBCOMMANDS = re.compile(r'^usage: [\w -]+? \[-h\] \{?([a-z][a-z-]*(?:[|,][a-z-]+)*)\}? \.\.\.')


def help_of_commands() -> dict[str, str]:
    """Help text of every `softarm` command and of its subcommands, by the words that are typed."""
    texts = {}
    os.environ['COLUMNS'] = '100'  # argparse breaks lines there
    for group in sorted(g for g in entry_points().groups if g.startswith('softarm.')):
        prefix = group.replace('.commands', '').replace('.', ' ')
        for point in sorted(entry_points(group=group)):
            name, main = f'{prefix} {point.name}', point.load()
            texts[name] = _printed_help(main, [])
            if names := _SUBCOMMANDS.match(texts[name]):
                for sub in re.split('[|,]', names[1]):
                    texts[f'{name} {sub}'] = _printed_help(main, [sub])
    return texts


def _printed_help(main, words: list[str]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main([*words, '--help'])
    return out.getvalue()


def _write_commands(app) -> None:
    parts = [f'## {name}\n```text\n{text}```\n' for name, text in help_of_commands().items()]
    (_folder(app) / 'commands.md').write_text('# Commands: every option\n' + '\n'.join(parts))


def _escape(app, what, name, obj, options, lines) -> None:
    """Keep what would be markup in reStructuredText: |x|, x*, and formulas, which are indented."""
    formula = None  # indentation of the line above an indented block
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line.strip() and (formula is None or indent <= formula):
            lines[i] = re.sub(r'(`[^`]*`)|([|*])', lambda m: m[1] or '\\' + m[2], line)
            below = [*lines[i + 1 : i + 3], '', '']
            opens = (
                line.endswith(':')
                and not below[0].strip()
                and below[1].startswith(' ' * (indent + 1))
            )
            formula = indent if opens else None
            lines[i] += ':' * opens


def _skip(app, what, name, obj, skip, options) -> bool | None:
    """Skip classes that a package re-exports, and annotated types, which only check values."""
    defined_in = getattr(obj, '__module__', None)
    is_imported = isinstance(obj, type) and defined_in != app.env.current_document.autodoc_module
    return True if what == 'module' and (is_imported or hasattr(obj, '__metadata__')) else None


def _folder(app) -> Path:
    return Path(app.srcdir) / 'reference' / 'generated'


def setup(app) -> None:
    """Connect to Sphinx, and delete the generated pages of an earlier build."""
    shutil.rmtree(_folder(app), ignore_errors=True)
    _folder(app).mkdir(parents=True)
    app.connect('builder-inited', _write_commands)
    app.connect('autodoc-process-docstring', _escape, priority=400)  # before napoleon
    app.connect('autodoc-skip-member', _skip)
