from setuptools import find_packages, setup

package_name = 'soft_arm_benchmarks'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=[
        'abb_rws_bridge',
        'abb_rws_emulator',
        'pneumatic_driver',
        'soft_arm_calibration',
        'soft_arm_description',
        'soft_arm_experiments',
        'soft_arm_identification',
        'soft_arm_io',
        'soft_arm_kinematics',
        'soft_arm_physics',
        'soft_arm_sim',
        'soft_arm_training',
        'soft_arm_vision',
        'numpy',
        'pyelastica',
        'scipy',
        'tqdm',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Benchmarks of kinematics, physics, vision and the gripper cell: softarm bench.',
    license='Apache-2.0',
    extras_require={
        'soft_robotic_arm': ['soft-robotic-arm==0.4.2'],
        'test': ['pytest'],
        'torch': ['torch'],
    },
    entry_points={
        'softarm.bench': [
            'cell = soft_arm_benchmarks.bench_cell:main',
            'identify = soft_arm_benchmarks.bench_identify:main',
            'kinematics = soft_arm_benchmarks.bench_kinematics:main',
            'physics = soft_arm_benchmarks.bench_physics:main',
            'soft_robotic_arm = soft_arm_benchmarks.bench_soft_robotic_arm:main',
            'vision = soft_arm_benchmarks.bench_vision:main',
        ],
    },
)
