from setuptools import find_packages, setup

package_name = 'soft_arm_description'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={
        package_name: [
            'robots/*.yaml',
            'assemblies/*.yaml',
            'worlds/*.yaml',
            'rigs/*/*.*',
            'rigs/*/*/*.*',
        ]
    },
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
        (
            'share/' + package_name + '/rviz',
            ['rviz/soft_arm.rviz', 'rviz/gripper_cell.rviz', 'rviz/squid.rviz'],
        ),
        (
            'share/' + package_name + '/foxglove',
            ['foxglove/soft_arm.json', 'foxglove/gripper_cell.json', 'foxglove/squid.json'],
        ),
    ],
    python_requires='>=3.11',
    install_requires=['soft_arm_io', 'numpy>=1.26', 'pydantic>=2.9', 'PyYAML>=6.0', 'scipy'],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Robot files: the single source for a robot, with URDF and calibration.',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
    entry_points={
        'console_scripts': [
            'robot_urdf = soft_arm_description.cli:main',
            'rig_folder = soft_arm_description.cli:rig_folder',
        ],
    },
)
