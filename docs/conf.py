"""Sphinx configuration: `make docs` builds the site into out/docs; warnings are errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

SOURCES = Path(__file__).parents[1] / 'src'
LIBRARIES = (  # packages that people import; their nodes and commands are in "Interfaces"
    'soft_arm_description',
    'soft_arm_io',
    'soft_arm_kinematics',
    'soft_arm_vision',
    'soft_arm_control',
    'pneumatic_driver',
    'abb_rws_bridge',
)

project = html_title = 'soft_arm'
author = 'soft_arm maintainers'
html_theme = 'furo'
extensions = [
    'myst_parser',
    'sphinx.ext.apidoc',
    'sphinx.ext.autodoc',
    'sphinx.ext.napoleon',
    'generated_pages',
]
myst_heading_anchors = 3  # a link may name a heading
apidoc_automodule_options = ['members', 'ignore-module-all', 'show-inheritance']
apidoc_modules = [
    {
        'path': SOURCES / library / library,
        'destination': f'reference/generated/{library}',
        'exclude_patterns': [f'{SOURCES}/{library}/{library}/{part}' for part in ('ros', 'cli')],
        'max_depth': 1,
        'module_first': True,
    }
    for library in LIBRARIES
]
autodoc_member_order = 'bysource'
autodoc_mock_imports = ['torch']
napoleon_attr_annotations = False
napoleon_use_ivar = True
default_role = 'code'  # docstrings write `name` for code
toc_object_entries = False
suppress_warnings = ['ref.python']  # short names of types that two packages have
