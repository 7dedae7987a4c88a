from glob import glob

from setuptools import find_packages, setup

package_name = 'soft_arm_bringup'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
        ('bin', ['bin/softarm']),  # found on PATH once the workspace is sourced
        # as in the source tree, so that $(dirname)/config means the same from either place
        ('share/' + package_name + '/launch', glob('*.launch.xml')),
        *(('share/' + package_name + f'/launch/{rig}', glob(f'{rig}/*.yaml')) for rig in glob('config/*')),
    ],
    install_requires=['setuptools'],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Launch files, rig configurations, the softarm command and system tests.',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
    entry_points={
        'console_scripts': ['report_ready = soft_arm_bringup.ros.report_ready_node:main'],
        'softarm.commands': [
            'launch = soft_arm_bringup.launch_command:main',
            'run = soft_arm_bringup.run_command:main',
            'bag = soft_arm_bringup.bag_command:main',
            'doctor = soft_arm_bringup.doctor_command:main',
            'topic = soft_arm_bringup.topic_command:main',
            'node = soft_arm_bringup.node_command:main',
            'rig = soft_arm_bringup.rig_command:main',
        ],
        'softarm.bench': ['cell = soft_arm_bringup.bench_cell_command:main'],
    },
)
