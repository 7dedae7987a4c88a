from setuptools import find_packages, setup

package_name = 'abb_rws_emulator'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=['soft_arm_io', 'aiohttp', 'numpy', 'scipy'],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Emulated ABB controller for Robot Web Services 1 and 2.',
    license='Apache-2.0',
    extras_require={'test': ['hypothesis', 'pytest', 'yarl']},
    entry_points={'softarm.sim': ['rws = abb_rws_emulator.cli:main']},
)
