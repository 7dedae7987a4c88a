from setuptools import find_packages, setup

package_name = 'soft_arm_control'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=[
        'soft_arm_io',
        'soft_arm_description',
        'soft_arm_kinematics',
        'numpy',
        'pydantic>=2.9',
        'scipy',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Closed-loop tip control and the experiments of the paper.',
    license='Apache-2.0',
    extras_require={'test': ['soft_arm_physics', 'hypothesis', 'pytest']},
    entry_points={
        'console_scripts': [
            'gripper_controller = soft_arm_control.ros.executables:gripper_controller',
            'joy_to_limbs = soft_arm_control.ros.executables:joy_to_limbs',
            'limb_controller = soft_arm_control.ros.executables:limb_controller',
            'tip_controller = soft_arm_control.ros.executables:tip_controller',
            'tip_estimator = soft_arm_control.ros.executables:tip_estimator',
        ],
        'softarm.commands': [
            'gripper = soft_arm_control.cli.gripper:main',
            'move = soft_arm_control.cli.move:main',
            'vent = soft_arm_control.cli.vent:main',
        ],
    },
)
