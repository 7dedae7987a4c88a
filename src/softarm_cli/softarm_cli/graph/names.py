"""Names of the ROS graph as types of command-line arguments."""

import argparse
import re

_NAME = re.compile(r'/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*', re.ASCII)
_LONGEST = 255


def graph_name(text: str) -> str:
    """Name of a node or namespace, with or without a leading slash."""
    if not _NAME.fullmatch(text) or len(text) > _LONGEST:
        raise argparse.ArgumentTypeError(
            f'{text[:60]!r} is not a ROS name: use letters, digits, _ and /'
        )
    return text


def topic_name(text: str) -> str:
    """Full name of a topic; the leading slash may be left out."""
    return '/' + graph_name(text).lstrip('/')
