"""XML launch files as elements that know the line they stand on."""

import xml.sax
from dataclasses import dataclass, field
from pathlib import Path

from soft_arm_description.command_line import one_line


class LaunchError(ValueError):
    """A launch file that cannot be run; the message names file, line and what is wrong."""

    def __init__(self, message: str):
        super().__init__(one_line(message))


@dataclass
class Element:
    """One tag: its attributes, its children, and where it stands."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int
    children: list['Element'] = field(default_factory=list)

    def error(self, message: str) -> LaunchError:
        """An error that points at this element."""
        return LaunchError(f'{where(self.file)}:{self.line}: {message}')

    def required(self, name: str) -> str:
        """The value of an attribute that must be there."""
        if name not in self.attributes:
            raise self.error(f'<{self.tag}> lacks the attribute {name!r}')
        return self.attributes[name]

    def check(self, attributes: set[str], children: set[str] = frozenset()) -> None:
        """Refuse what this tag does not know."""
        for name in self.attributes:
            if name not in attributes:
                raise self.error(
                    f'unknown attribute {name!r} of <{self.tag}>; known: {", ".join(sorted(attributes))}'
                )
        for child in self.children:
            if child.tag not in children:
                known = f'known: {", ".join(sorted(children))}' if children else 'it takes none'
                raise child.error(f'unknown tag <{child.tag}> inside <{self.tag}>; {known}')


def where(path: Path) -> str:
    """Name of a launch file in messages: with its folder, which is enough to find it and leaves room for the reason."""
    return str(Path(*path.parts[-2:]))


def read(path: Path) -> Element:
    """The root element of a launch file.

    Raises:
        LaunchError: If the file is missing, is not XML or is not a <launch> file.
    """
    handler = _Handler(path)
    try:
        with path.open('rb') as file:
            xml.sax.parse(file, handler)
    except OSError as error:
        raise LaunchError(f'{where(path)}: {error.strerror}') from error
    except xml.sax.SAXParseException as error:
        raise LaunchError(f'{where(path)}:{error.getLineNumber()}: {error.getMessage()}') from error
    if handler.root.tag != 'launch':
        raise handler.root.error(f'the outermost tag must be <launch>, not <{handler.root.tag}>')
    return handler.root


class _Handler(xml.sax.ContentHandler):
    def __init__(self, path):
        super().__init__()
        self._path = path
        self._open = []
        self.root = None

    def startElement(self, name, attrs):
        element = Element(name, dict(attrs), self._path, self._locator.getLineNumber())
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def endElement(self, name):
        self._open.pop()

    def characters(self, content):
        if content.strip():
            raise LaunchError(
                f'{where(self._path)}:{self._locator.getLineNumber()}: text {content.strip()!r} outside any attribute'
            )
