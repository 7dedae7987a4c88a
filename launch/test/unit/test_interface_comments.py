"""Comments of messages are shown whole by `ros2 interface show`.

For a nested message it leaves comments out: it looks for the comment's text without its unit in
brackets, and cuts the line there. A unit that stands anywhere but at the end makes it cut within
the comment.
"""

from pathlib import Path

import pytest
from rosidl_adapter.parser import parse_message_string

FOLDER = Path(__file__).parents[3] / 'src' / 'soft_arm_msgs'
FILES = sorted(
    path for ending in ('msg', 'srv', 'action') for path in FOLDER.glob(f'{ending}/*.{ending}')
)


def shown_without_comment(line):
    """Return a line as the tool prints it without comments."""
    fields = parse_message_string('soft_arm_msgs', 'Any', line).fields
    comments = fields[0].annotations['comment'] if fields else []
    return line[: line.find(comments[0]) - 1].strip() if comments else line


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_no_comment_is_cut_in_the_middle(path):
    for line in path.read_text().splitlines():
        if line and line != '---' and not line.startswith('#'):
            declaration, _, comment = line.partition('#')
            shown = shown_without_comment(line)
            assert shown in (line, f'{declaration}#', declaration.strip()), (
                f'{path.name}: {line!r} is shown as {shown!r}'
            )
            assert (
                '[' not in comment
                or comment.rstrip().endswith(']')
                or ',' in comment.partition('[')[2].partition(']')[0]
            ), line


def test_there_are_messages():
    assert len(FILES) > 20
