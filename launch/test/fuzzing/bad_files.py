"""Files that people should not have written: text traps, and valid files with something changed."""

import copy
import json
import random

import yaml

PHRASES_OF_PYTHON = (
    'NoneType', 'not subscriptable', 'object is not', 'indices must', 'unhashable',
    'argument must be', 'not iterable', 'instance of',
    'object has no', 'unsupported operand', 'takes no', 'positional', 'index out of',
    'broadcast', 'inhomogeneous', 'codec',
    'traceback', 'could not convert', 'Error(', 'not supported between', 'unexpected keyword',
    'dimension', 'unpack',
)  # fmt: skip
"""Phrases of Python that do not belong into messages for the author of a file."""

YAML_TRAPS = {
    'empty': b'',
    'number': b'3\n',
    'list': b'[1, 2, 3]\n',
    'duplicate key': b'name: a\nname: b\n',
    'alias bomb': b'a: &a [x, x, x, x, x, x, x, x, x]\n'
    + b''.join(
        b'%c: &%c [%s]\n' % (98 + i, 98 + i, b', '.join([b'*%c' % (97 + i)] * 9)) for i in range(9)
    ),
    'recursion': b'&a [*a]\n',
    'long value': b'name: ' + b'x' * 900_000 + b'\n',
    'UTF-16': 'name: a\n'.encode('utf-16'),
    'binary': bytes(range(256)) * 20,
    'deep list': b'[' * 5000,
    'huge integer': b'version: ' + b'9' * 5000 + b'\n',
    'python tag': b'!!python/object/apply:os.system ["true"]\n',
    'merge key': b'base: &b {name: a}\n<<: *b\n',
    'two documents': b'--- 1\n--- 2\n',
    'unclosed': b'name: "a\n',
    'NUL': b'name: a\0b\n',
    'byte order mark': b'\xef\xbb\xbfname: a\n',
}

VALUES = (
    None, True, False, 0, 1, -1, 2**31, -(2**40), 10**18, 0.0, 0.5, -0.5, 1e-300, 1e300,
    -1e300, float('nan'), float('inf'), float('-inf'),
    '', ' ', 'x', '/', '..', 'NaN', '1e3', '2026-01-31', '12:30:45', '0o17',
    'é\u202e\U0001f600', 'line\nline', '\x1b[31m', 'x' * 20_000,
    [], {}, [[]], [1], [1.0, 2.0, 3.0], [None], ['x', 'x'], [True] * 4, list(range(2000)),
    {'a': 1}, {'x': {'y': []}}, [[1, 2], [3]],
)  # fmt: skip


def changed(content, rng: random.Random):
    """A copy of a valid file's content with one to three changes; an empty one stays empty."""
    content = copy.deepcopy(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holders = [node for node in _nodes(content) if node]
        if not holders:
            return content
        holder = rng.choice(holders)
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        match rng.randrange(8):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder[:] = holder * rng.choice((2, 50))
            case 1:
                holder[rng.choice(('extra', 'Name', '', '<<', 'x' * 3000))] = rng.choice(VALUES)
            case 2 if isinstance(holder, list) and len(holder) > 1:
                other = rng.randrange(len(holder))
                holder[key], holder[other] = holder[other], holder[key]
            case 3 if isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
                holder[key] = holder[key] * rng.choice((-1, 0, 10, 1e-6, 1e6, 1e300))
            case 4:
                holder[key] = [holder[key]]
            case 5:
                holder[key] = str(holder[key])
            case 6:
                holder[key] = copy.deepcopy(
                    rng.choice([node for node in _nodes(content) if node is not content] or [None])
                )
            case _:
                holder[key] = copy.deepcopy(rng.choice(VALUES))
    return content


def _nodes(node):
    """Every list and dict within."""
    if isinstance(node, (dict, list)):
        yield node
        for child in node.values() if isinstance(node, dict) else node:
            yield from _nodes(child)


def changed_yaml(valid: bytes, rng: random.Random) -> bytes:
    """A valid YAML file with values changed, or its text."""
    if rng.random() < 0.15:
        return changed_text(valid, rng)
    return yaml.dump(
        changed(yaml.safe_load(valid), rng), Dumper=_NoAliases, allow_unicode=True, sort_keys=False
    ).encode()


def changed_json(valid: bytes, rng: random.Random) -> bytes:
    """The same for JSON; it writes NaN and Infinity, as Python does."""
    if rng.random() < 0.15:
        return changed_text(valid, rng)
    return json.dumps(changed(json.loads(valid), rng)).encode()


class _NoAliases(yaml.CSafeDumper):
    def ignore_aliases(self, data):
        return True


WORDS = (
    b'', b'nan', b'inf', b'-1', b'0', b'1e300', b'x', b'-', b'99999999999999999999',
    b'\xff\xfe', b'\0', b'"', b'\n', b',', b'NaN', b'up',
    b'\xc2\xb2', b'1_0', b' ', b'z' * 3000, b'9' * 5000, b'&', b'<', b'$(', b'$(var x)', b'3',
    b'2', b'65536', b'4000000000',
)  # fmt: skip


def changed_text(valid: bytes, rng: random.Random) -> bytes:
    """A text with words, lines or bytes changed."""
    text = valid
    for _ in range(rng.choice((1, 1, 2, 5))):
        lines = text.split(b'\n')
        i = rng.randrange(len(lines))
        match rng.randrange(7):
            case 0:
                text = text[: rng.randrange(len(text) + 1)]
            case 1:
                at = rng.randrange(len(text) + 1)
                text = text[:at] + rng.choice(WORDS) + text[at:]
            case 2:
                text = b'\n'.join(lines[:i] + lines[i + 1 :])
            case 3:
                text = b'\n'.join(lines[: i + 1] + lines[i:])
            case 4:
                at = rng.randrange(len(text) + 1)
                text = text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
            case _:
                separator = rng.choice((b',', b' ', b'"', b':'))
                words = lines[i].split(separator)
                words[rng.randrange(len(words))] = rng.choice(WORDS)
                lines[i] = separator.join(words)
                text = b'\n'.join(lines)
    return text


def changed_bytes(valid: bytes, rng: random.Random) -> bytes:
    """A file in which some bytes are flipped, cut, doubled or zero."""
    changed = bytearray(valid)
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(changed) + 1)
        stop = min(len(changed), start + rng.choice((1, 8, 100, 5000)))
        match rng.randrange(5):
            case 0 if start < stop:
                changed[start] ^= 1 << rng.randrange(8)
            case 1:
                del changed[start:stop]
            case 2:
                del changed[start:]
            case 3:
                changed[start:start] = changed[start:stop]
            case _:
                changed[start:stop] = bytes(stop - start)
    return bytes(changed)
