"""docs/explanation/motion.md: every file and function of its two walks exists and calls the next.

A row names a file, a function in it, and how it is reached: by a call from an earlier row, or by a
topic, service, action or timer. A call counts when the earlier function, or a function of the same
file that it uses, uses this one's name and imports its module.
"""

import ast
import re
from functools import cache

import pytest

from system_testing.pages import ROOT

PAGE = (ROOT / 'docs' / 'explanation' / 'motion.md').read_text()
ROW = re.compile(r'(?m)^\| (\d+) \| `([\w/.]+\.py)` \| `([\w.]+)` \| (.*?) \| .*\|$')
WALKS = [
    {
        int(number): (file, function, reached)
        for number, file, function, reached in ROW.findall(part)
    }
    for part in PAGE.split('\n## ')[1:]
]
STEPS = [(walk, number) for walk in WALKS for number in walk]


@cache
def tree(file):
    return ast.parse((ROOT / 'src' / file).read_text())


@cache
def functions(file):
    """Functions and methods of a file by name, methods as Class.method."""
    found = {}
    for node in tree(file).body:
        methods = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f'{node.name}.' if isinstance(node, ast.ClassDef) else ''
        for method in methods:
            if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found[prefix + method.name] = method
    return found


def names_used(node):
    names = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return names | {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def names_used_within(file, function):
    """Names that a function uses, itself or through functions of its file."""
    used, waiting, seen = set(), [function], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        new = names_used(functions(file)[name])
        used |= new
        waiting += [f for f in functions(file) if f.split('.')[-1] in new]
    return used


def imports(file):
    """Modules that a file imports, and every name that it imports from one, dotted."""
    found = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            found |= {node.module} | {f'{node.module}.{alias.name}' for alias in node.names}
    return found


def texts(file):
    return {n.value for n in ast.walk(tree(file)) if isinstance(n, ast.Constant)}


def test_both_walks_are_there():
    assert len(WALKS) == 2
    for walk in WALKS:
        assert 8 <= len(walk) <= 12 and list(walk) == list(range(1, len(walk) + 1))


@pytest.mark.parametrize(('walk', 'number'), STEPS)
def test_the_function_exists(walk, number):
    file, function, _ = walk[number]
    assert function in functions(file), f'{file} has no {function}; it has {list(functions(file))}'


@pytest.mark.parametrize(('walk', 'number'), [s for s in STEPS if s[1] > 1])
def test_it_is_reached_as_the_page_says(walk, number):
    file, function, reached = walk[number]
    if reached == 'timer':
        assert names_used(tree(file)) & {'create_timer', 'Ticker'}, file
        return
    how = re.fullmatch(r'(call|topic|service|action)(?: `([\w/]+)`)? from (\d+)', reached)
    assert how and int(how[3]) < number, f'{number}: {reached!r}'
    caller_file, caller, _ = walk[int(how[3])]
    if how[1] != 'call':
        assert how[2] in texts(caller_file) and how[2] in texts(file), f'{number}: {reached}'
        return
    name = function.split('.')[-1]
    assert name in names_used_within(caller_file, caller), f'{caller} does not use {name}'
    module = file.removesuffix('.py').split('/', 1)[1].replace('/', '.')
    assert caller_file == file or module in imports(caller_file), (
        f'{caller_file} does not import {module}'
    )


@pytest.mark.parametrize('walk', WALKS)
def test_every_room_is_passed_once(walk):
    """A file that was left is not entered again."""
    files = [file for file, _, _ in walk.values()]
    rooms = [file for file, before in zip(files, [None, *files], strict=False) if file != before]
    assert len(rooms) == len(set(rooms)), rooms
