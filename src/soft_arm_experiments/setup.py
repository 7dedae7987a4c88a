from setuptools import find_packages, setup

package_name = 'soft_arm_experiments'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={package_name: ['vision/bench_peers/*.cpp']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=[
        'abb_rws_bridge',
        'abb_rws_emulator',
        'pneumatic_driver',
        'soft_arm_control',
        'soft_arm_description',
        'soft_arm_kinematics',
        'soft_arm_physics',
        'soft_arm_sim',
        'soft_arm_vision',
        'softarm_cli',
        'matplotlib',
        'numpy',
        'opencv-python-headless',
        'pycocotools',
        'pydantic>=2.9',
        'pyransac3d',
        'rosbags',
        'scipy',
        'torch',
        'tqdm',
        'typing-extensions',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Experiments, benchmarks, reports and training data: may use every other package.',
    license='Apache-2.0',
    extras_require={'test': ['hypothesis', 'pytest', 'pyyaml']},
    entry_points={
        'console_scripts': [
            'virtual_rig_for = soft_arm_experiments.cli.calibrate_virtual:virtual_rig_for',
        ],
        'softarm.bench': [
            'cell = soft_arm_experiments.cli.bench_cell:main',
            'kinematics = soft_arm_experiments.cli.bench_kinematics:main',
            'vision = soft_arm_experiments.cli.bench_vision:main',
        ],
        'softarm.calibrate': [
            'dynamics = soft_arm_experiments.cli.calibrate_dynamics:main',
            'extrinsics = soft_arm_experiments.cli.calibrate_extrinsics:main',
            'finger = soft_arm_experiments.cli.calibrate_finger:main',
            'grasp = soft_arm_experiments.cli.calibrate_grasp:main',
            'virtual = soft_arm_experiments.cli.calibrate_virtual:main',
        ],
        'softarm.experiment': [
            'all = soft_arm_experiments.cli.experiment:all_experiments',
            'bend = soft_arm_experiments.cli.experiment:bend',
            'deflection = soft_arm_experiments.cli.experiment:deflection',
            'reach = soft_arm_experiments.cli.experiment_reach:main',
            'ring = soft_arm_experiments.cli.experiment_ring:main',
        ],
        'softarm.vision': [
            'draw = soft_arm_experiments.cli.vision_draw:main',
            'evaluate = soft_arm_experiments.cli.vision_evaluate:main',
            'extract = soft_arm_experiments.cli.vision_extract:main',
        ],
        'softarm.train': ['ring-segmenter = soft_arm_experiments.cli.train_ring_segmenter:main'],
    },
)
