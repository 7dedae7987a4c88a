from setuptools import find_packages, setup

package_name = 'soft_arm_sim'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={package_name: ['config/*.yaml']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=[
        'soft_arm_io',
        'soft_arm_description',
        'soft_arm_kinematics',
        'soft_arm_physics',
        'mujoco',
        'numpy',
        'opencv-python-headless',
        'pydantic>=2.9',
        'pymodbus>=3.13',
        'scipy',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='The virtual rig: plant, depth camera and device emulators.',
    license='Apache-2.0',
    extras_require={
        'test': [
            'abb_rws_bridge',
            'soft_arm_node_kit',
            'pytest',
            'pyyaml',
        ]
    },
    entry_points={
        'console_scripts': [
            'virtual_cell = soft_arm_sim.ros.executables:virtual_cell',
            'virtual_robots = soft_arm_sim.ros.executables:virtual_robots',
            'virtual_rig = soft_arm_sim.ros.executables:virtual_rig',
        ],
        'softarm.sim': ['pcu2v = soft_arm_sim.cli.pcu2v:main'],
    },
)
