from setuptools import find_packages, setup

package_name = 'soft_arm_experiments'

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
        'abb_rws_emulator',
        'pneumatic_driver',
        'soft_arm_calibration',
        'soft_arm_control',
        'soft_arm_description',
        'soft_arm_kinematics',
        'soft_arm_physics',
        'soft_arm_sim',
        'soft_arm_vision',
        'matplotlib',
        'numpy',
        'pydantic>=2.9',
        'tqdm',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Experiments, their reports, and virtual devices for calibration.',
    license='Apache-2.0',
    extras_require={
        'test': [
            'hypothesis',
            'mujoco',
            'opencv-python-headless',
            'pytest',
            'pyyaml',
            'rosbags',
            'scipy',
            'soft_arm_training',
            'softarm_cli',
        ]
    },
    entry_points={
        'console_scripts': [
            'virtual_rig_for = soft_arm_experiments.cli.calibrate_virtual:virtual_rig_for',
        ],
        'soft_arm.virtual_devices': [
            'board = soft_arm_experiments.virtual_devices:board',
            'finger = soft_arm_experiments.virtual_devices:finger',
            'jig = soft_arm_experiments.virtual_devices:jig',
            'motion_capture = soft_arm_experiments.virtual_devices:motion_capture',
        ],
        'softarm.calibrate': [
            'ring-noise = soft_arm_experiments.cli.calibrate_ring_noise:main',
            'virtual = soft_arm_experiments.cli.calibrate_virtual:main',
        ],
        'softarm.experiment': [
            'all = soft_arm_experiments.cli.experiment:all_experiments',
            'bend = soft_arm_experiments.cli.experiment:bend',
            'deflection = soft_arm_experiments.cli.experiment:deflection',
            'plants = soft_arm_experiments.cli.experiment_plants:main',
            'reach = soft_arm_experiments.cli.experiment_reach:main',
            'ring = soft_arm_experiments.cli.experiment_ring:main',
        ],
    },
)
