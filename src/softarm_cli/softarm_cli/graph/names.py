"""Names of the ROS graph: argument types, and hints at similar names."""

import argparse
import difflib
import re
from collections.abc import Iterable

_NAME = re.compile(r'/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*', re.ASCII)
_MAX_CHARACTERS = 255


def graph_name(text: str) -> str:
    """Name of a node or namespace, with or without a leading slash."""
    if not _NAME.fullmatch(text) or len(text) > _MAX_CHARACTERS:
        raise argparse.ArgumentTypeError(
            f'{text[:60]!r} is not a ROS name: use letters, digits, _ and /'
        )
    return text


def topic_name(text: str) -> str:
    """Full name of a topic; the leading slash may be left out."""
    return '/' + graph_name(text).lstrip('/')


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint at the most similar known names, or else the given text."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    last = name.rsplit('/', 1)[-1]
    close += [k for k in known if k.rsplit('/', 1)[-1] == last and k not in close][:3]
    return f'did you mean {" or ".join(close)}?' if close else otherwise
