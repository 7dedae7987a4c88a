import pytest

from soft_arm_io.yaml_file import YamlFileError, read_yaml, write_yaml


@pytest.mark.parametrize(
    ('content', 'what'),
    [
        ('a: 1\nb: 2\na: 3', "line 3: key 'a' is given twice"),
        ('x: {a: 1, a: 2}', "line 1: key 'a' is given twice"),
        ('? [a]\n: 1', 'a key is a list'),
        ('a: &a [1, 1]\nb: &b [*a, *a]', 'line 2: alias *a stands within an anchor'),
        ('&a [*a]', 'stands within an anchor'),
        (f'a: &a {list(range(1000))}\nb: [{", ".join(["*a"] * 100)}]', 'more than 50000 values'),
        ('b: *b', 'undefined alias'),
        ('[' * 5000, 'nested deeper than 50 levels'),
        (f'a: {"9" * 20}', 'outside 64 bits'),
        (f'a: {"9" * 5000}', 'cannot be read'),
        ('a: !!python/object:os.system x', 'tag'),
        ('a: 1\n---\nb: 2', 'another document'),
        ('a:\n\t- b', 'line 2'),
        ('a: \x01', 'unacceptable character'),
        ('a: "' + 'x' * 2_000_000 + '"', 'larger than 1 MB'),
        ('a: 1'.encode('utf-16'), 'not UTF-8'),
        (bytes(range(256)), 'not UTF-8'),
    ],
)
def test_a_trap_is_refused_in_one_short_line(tmp_path, content, what):
    path = tmp_path / 'trap.yaml'
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(YamlFileError) as refused:
        read_yaml(path)
    message = str(refused.value)
    assert what in message and '\n' not in message and len(message) <= 200


def test_scalars_follow_yaml_1_2(tmp_path):
    path = tmp_path / 'scalars.yaml'
    path.write_text(
        'a: 1e-3\nb: 010\nc: 12:30\nd: 2026-01-31\ne: yes\nf: 0x1F\n'
        'g: -.inf\nh: ~\ni: true\nj: -1.\nk: "1"\n'
    )
    assert read_yaml(path) == {
        'a': 1e-3, 'b': 10, 'c': '12:30', 'd': '2026-01-31', 'e': 'yes', 'f': 31,
        'g': -float('inf'), 'h': None, 'i': True, 'j': -1.0, 'k': '1',
    }  # fmt: skip


def test_merge_keys_and_an_empty_file_are_read(tmp_path):
    path = tmp_path / 'merge.yaml'
    path.write_text('a: &a {x: 1}\nb: {<<: *a, y: 2}\n')
    assert read_yaml(path)['b'] == {'x': 1, 'y': 2}
    path.write_text('')
    assert read_yaml(path) is None


@pytest.mark.parametrize(
    'text',
    [
        '12e4567890123456',
        '0123456789012389',
        '1_000',
        'yes',
        '2026-01-31',
        '12:30',
        '0x1f',
        '~',
        '1.5',
        '<<',
    ],
)
def test_what_is_written_is_read_back(tmp_path, text):
    path = tmp_path / 'new' / 'file.yaml'
    content = {
        'robot_fingerprint': text,
        'values': [1, 2.5e-7, -1e300, True, None],
        'rows': [[1.0, 2.0], [3.0, 4.0]],
    }
    write_yaml(path, content, 'Two lines\nof comment.')
    assert read_yaml(path) == content
    assert path.read_text().startswith('# Two lines\n# of comment.\n') and [
        p.name for p in path.parent.iterdir()
    ] == ['file.yaml']
