from setuptools import find_packages, setup

package_name = 'soft_arm_twin'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={package_name: ['web/**/*']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=[
        'soft_arm_io',
        'aiohttp>=3.9',
        'numpy',
        'opencv-python-headless',
        'pydantic>=2.9',
        'rosbags',
        'scipy>=1.12',
        'soft-arm-description',
        'soft-arm-kinematics',
        'softarm-cli',
        'soft-arm-physics',
    ],
    zip_safe=False,  # the page's files are served from the folder
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='See, drive and replay any robot in the browser.',
    license='Apache-2.0',
    entry_points={
        'softarm.commands': [
            'twin = soft_arm_twin.cli.twin:main',
            'view = soft_arm_twin.cli.view:main',
        ],
    },
    extras_require={'test': ['abb_rws_emulator', 'abb_rws_bridge', 'hypothesis', 'pytest']},
)
