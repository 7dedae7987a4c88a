from setuptools import find_packages, setup

package_name = 'soft_arm_physics'

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
        'gymnasium>=1.1',
        'matplotlib>=3.8',
        'mujoco>=3.17,<4',  # 4.0.0 has a wrong Hessian of sparse constraints
        'numba>=0.61',
        'numpy',
        'opencv-python-headless',
        'pydantic>=2.9',
        'scipy',
        'tqdm',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Physics of any robot file in MuJoCo, with contact; no ROS, no devices.',
    license='Apache-2.0',
    extras_require={
        'test': ['hypothesis', 'pytest', 'pyyaml'],
    },
    entry_points={
        'softarm.calibrate': ['stiffness = soft_arm_physics.cli.calibrate_stiffness:main'],
        'softarm.sim': ['robot = soft_arm_physics.cli.robot:main'],
    },
)
