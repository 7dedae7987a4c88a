from glob import glob

from setuptools import setup

package_name = 'soft_arm_bringup'

setup(
    name=package_name,
    version='0.2.0',
    packages=[],
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
        ('share/' + package_name + '/launch', glob('*.launch.xml')),
    ],
    install_requires=[],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Launch files of the rigs, and the tests of the whole system.',
    license='Apache-2.0',
    extras_require={
        'test': [
            'abb_rws_bridge',
            'pneumatic_driver',
            'soft_arm_calibration',
            'soft_arm_control',
            'soft_arm_description',
            'soft_arm_experiments',
            'soft_arm_io',
            'soft_arm_kinematics',
            'soft_arm_physics',
            'soft_arm_sim',
            'soft_arm_training',
            'soft_arm_vision',
            'softarm_cli',
            'numpy',
            'opencv-python-headless',
            'pydantic>=2.9',
            'pytest',
            'pyyaml',
            'rosbags',
        ]
    },
)
