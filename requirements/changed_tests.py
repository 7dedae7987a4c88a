"""Print the unit test folders of packages changed against main and of their direct dependents."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree


def git(*arguments: str) -> list[str]:
    """Return the output lines of a git command."""
    done = subprocess.run(['git', *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main() -> None:
    """Compare the working tree with the commit at which its branch left main."""
    (main_branch,) = git('branch', '--all', '--format=%(refname)', '--list', 'main', '*/main')[:1]
    (base,) = git('merge-base', 'HEAD', main_branch)
    changed = git('diff', '--name-only', base) + git('ls-files', '--others', '--exclude-standard')
    manifests = {
        path.parent: ElementTree.parse(path).getroot()
        for pattern in ('src/*/package.xml', 'underlay/*/package.xml', '*/package.xml')
        for path in sorted(Path().glob(pattern))
    }
    names = {
        root.findtext('name')
        for folder, root in manifests.items()
        if any(Path(file).is_relative_to(folder) for file in changed)
    }
    for folder, root in manifests.items():
        depends = {node.text for node in root if node.tag in ('depend', 'exec_depend')}
        tests = folder / 'test' / ('' if folder.parts[0] == 'underlay' else 'unit')
        affected = (
            {root.findtext('name')}
            if folder.name == 'launch'
            else {root.findtext('name'), *depends}
        )
        if names & affected and tests.is_dir():
            sys.stdout.write(f'{tests}\n')


if __name__ == '__main__':
    main()
