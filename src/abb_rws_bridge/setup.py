from setuptools import find_packages, setup

package_name = 'abb_rws_bridge'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=['soft_arm_io', 'aiohttp', 'numpy', 'yarl'],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='ABB controllers over Robot Web Services.',
    license='Apache-2.0',
    extras_require={'test': ['abb_rws_emulator', 'hypothesis', 'pytest']},
    entry_points={
        'console_scripts': [
            'abb_rws_bridge = abb_rws_bridge.ros.executables:abb_rws_bridge',
        ],
    },
)
