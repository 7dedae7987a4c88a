from setuptools import find_packages, setup

package_name = 'soft_arm_io'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    python_requires='>=3.11',
    install_requires=['pydantic>=2.9', 'PyYAML>=6.0'],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Command lines, YAML and CSV files: strict input with one-line errors.',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
)
