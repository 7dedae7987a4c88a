"""XML launch files as elements with their line numbers."""

import xml.sax
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.xmlreader import AttributesImpl, Locator

from soft_arm_io.command_line import one_line
from soft_arm_io.errors import InputError


class LaunchError(InputError):
    """An invalid launch file; the message contains file, line and reason."""

    def __init__(self, message: str):
        super().__init__(one_line(message))


@dataclass
class Element:
    """Tag with its attributes, children and position."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int
    children: list['Element'] = field(default_factory=list)

    def error(self, message: str) -> LaunchError:
        """Return an error that points at this element."""
        return LaunchError(f'{where(self.file)}:{self.line}: {message}')

    def required(self, name: str) -> str:
        """Return the value of a required attribute."""
        if name not in self.attributes:
            raise self.error(f'<{self.tag}> lacks the attribute {name!r}')
        return self.attributes[name]

    def check(self, attributes: Set[str], children: Set[str] = frozenset()) -> None:
        """Refuse unknown attributes and children."""
        for name in self.attributes:
            if name not in attributes:
                known = ', '.join(sorted(attributes))
                raise self.error(f'unknown attribute {name!r} of <{self.tag}>; known: {known}')
        for child in self.children:
            if child.tag not in children:
                known = f'known: {", ".join(sorted(children))}' if children else 'it takes none'
                raise child.error(f'unknown tag <{child.tag}> inside <{self.tag}>; {known}')


def where(path: Path) -> str:
    """Return a launch file's name with its folder, for messages."""
    return str(Path(*path.parts[-2:]))


def read(path: Path) -> Element:
    """Return the root element of a launch file.

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
    root: Element

    def __init__(self, path: Path):
        super().__init__()
        self._path = path
        self._open: list[Element] = []

    def setDocumentLocator(self, locator: Locator) -> None:
        self._position = locator

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        line = self._position.getLineNumber() or 0
        element = Element(name, dict(attrs.items()), self._path, line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def endElement(self, name: str) -> None:
        self._open.pop()

    def characters(self, content: str) -> None:
        if content.strip():
            line = self._position.getLineNumber()
            raise LaunchError(
                f'{where(self._path)}:{line}: text {content.strip()!r} outside any attribute'
            )
