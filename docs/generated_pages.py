"""Sphinx extension: write the pages of commands, parameters and messages from the sources.

It also keeps docstrings intact, which Sphinx would read as reStructuredText.
"""

import contextlib
import importlib
import inspect
import io
import json
import os
import re
import shutil
from dataclasses import MISSING, fields, is_dataclass
from importlib.metadata import entry_points
from pathlib import Path

INTERFACES = Path(__file__).parents[1] / 'src' / 'soft_arm_msgs'

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


def parameters_of_nodes() -> dict[str, list[tuple[str, str, str]]]:
    """Name, default and description of each parameter of every node, by `package/executable`."""
    nodes = {}
    for point in sorted(entry_points(group='console_scripts'), key=lambda point: point.value):
        if '.ros.executables:' in point.value:
            module = importlib.import_module(point.load().module)
            declared = [kind for kind in vars(module).values() if _holds_parameters(kind)]
            declared.sort(key=lambda kind: len(inspect.getmro(kind)))  # a derived class is last
            package = point.value.partition('.')[0]
            nodes[f'{package}/{point.name}'] = [
                (spec.name, _default(spec), _description(spec)) for spec in fields(declared[-1])
            ]
    return nodes


def _holds_parameters(kind) -> bool:
    return (
        isinstance(kind, type)
        and is_dataclass(kind)
        and any('description' in spec.metadata for spec in fields(kind))
    )


def _default(spec) -> str:
    return 'required' if spec.default is MISSING else f'`{json.dumps(spec.default)}`'


def _description(spec) -> str:
    low, high = spec.metadata['minimum'], spec.metadata['maximum']
    limits = [] if low is None else [f'at least {low:g}']
    limits += [] if high is None else [f'at most {high:g}']
    return '; '.join([spec.metadata['description'], *limits]).replace('|', '\\|')


def texts_of_interfaces() -> dict[str, str]:
    """Text of every message, service and action file, by its name, such as `msg/TipTarget`."""
    files = [path for kind in ('msg', 'srv', 'action') for path in INTERFACES.glob(f'{kind}/*')]
    return {f'{path.parent.name}/{path.stem}': path.read_text() for path in sorted(files)}


def _write_pages(app) -> None:
    _write(app, 'commands', 'Commands', _in_code_blocks(help_of_commands()))
    _write(
        app, 'messages', 'Messages, services and actions', _in_code_blocks(texts_of_interfaces())
    )
    head = '| parameter | default | meaning |\n|---|---|---|\n'
    tables = {
        node: head + ''.join(f'| `{name}` | {default} | {text} |\n' for name, default, text in rows)
        for node, rows in parameters_of_nodes().items()
    }
    _write(app, 'parameters', 'Parameters of the nodes', tables)


def _in_code_blocks(texts: dict[str, str]) -> dict[str, str]:
    return {name: f'```text\n{text}```\n' for name, text in texts.items()}


def _write(app, page: str, title: str, sections: dict[str, str]) -> None:
    parts = [f'## {name}\n{text}' for name, text in sections.items()]
    (_folder(app) / f'{page}.md').write_text('\n'.join([f'# {title}', *parts]))


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
    app.connect('builder-inited', _write_pages)
    app.connect('autodoc-process-docstring', _escape, priority=400)  # before napoleon
    app.connect('autodoc-skip-member', _skip)
