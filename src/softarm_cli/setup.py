from setuptools import find_packages, setup

package_name = 'softarm_cli'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
        ('bin', ['bin/softarm']),  # found on PATH once the workspace is sourced
    ],
    install_requires=[
        'soft_arm_io',
        'pneumatic_driver',
        'soft_arm_description',
        'soft_arm_node_kit',
        'matplotlib',
        'mcap',
        'numpy',
        'pyyaml',
        'rosbags',
        'tqdm',
        'typing-extensions',
        'zstandard',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='The softarm command: command line for all packages.',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
    entry_points={
        'console_scripts': [
            'report_ready = softarm_cli.ros.executables:report_ready',
            'has_package = softarm_cli.launching.packages:has_package',
        ],
        'softarm.commands': [
            'launch = softarm_cli.launch_command:main',
            'run = softarm_cli.run_command:main',
            'bag = softarm_cli.bag_command:main',
            'doctor = softarm_cli.doctor_command:main',
            'topic = softarm_cli.topic_command:main',
            'node = softarm_cli.node_command:main',
            'rig = softarm_cli.rig_command:main',
        ],
    },
)
