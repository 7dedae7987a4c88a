from setuptools import find_packages, setup

package_name = 'soft_arm_calibration'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=[
        'soft_arm_control',
        'soft_arm_description',
        'soft_arm_io',
        'soft_arm_kinematics',
        'soft_arm_vision',
        'softarm_cli',
        'matplotlib',
        'numpy',
        'opencv-python-headless',
        'pycocotools',
        'pydantic>=2.9',
        'scipy',
        'tqdm',
        'typing-extensions',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Calibration of rigs, evaluation of recorded bags: needs no simulator.',
    license='Apache-2.0',
    extras_require={'test': ['hypothesis', 'pytest', 'pyyaml']},
    entry_points={
        'softarm.bag': ['evaluate = soft_arm_calibration.cli.bag_evaluate:main'],
        'softarm.calibrate': [
            'camera-check = soft_arm_calibration.cli.calibrate_camera_check:main',
            'depth = soft_arm_calibration.cli.calibrate_depth:main',
            'dynamics = soft_arm_calibration.cli.calibrate_dynamics:main',
            'extrinsics = soft_arm_calibration.cli.calibrate_extrinsics:main',
            'finger = soft_arm_calibration.cli.calibrate_finger:main',
            'grasp = soft_arm_calibration.cli.calibrate_grasp:main',
            'motion-capture = soft_arm_calibration.cli.calibrate_motion_capture:main',
        ],
    },
)
