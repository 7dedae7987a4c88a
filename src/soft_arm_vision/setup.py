from setuptools import find_packages, setup

package_name = 'soft_arm_vision'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={package_name: ['segmentation/yolact/weights/*']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=[
        'soft_arm_io',
        'soft_arm_description',
        'soft_arm_kinematics',
        'matplotlib',
        'numpy',
        'onnxruntime',
        'open3d-cpu',
        'opencv-python-headless',
        'pydantic>=2.9',
        'scipy',
        'threadpoolctl',
        'typing-extensions',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Ring pose, cylinder fit, extrinsic calibration, finger bends from a depth camera.',
    license='Apache-2.0',
    extras_require={'test': ['soft_arm_node_kit', 'hypothesis', 'pytest']},
    entry_points={
        'console_scripts': [
            'camera_frame = soft_arm_vision.ros.executables:camera_frame',
            'camera_frames = soft_arm_vision.cli.camera_frames:main',
            'finger_detector = soft_arm_vision.ros.executables:finger_detector',
            'tip_from_pose = soft_arm_vision.ros.executables:tip_from_pose',
            'tip_tracker = soft_arm_vision.ros.executables:tip_tracker',
        ],
        'softarm.vision': ['fit = soft_arm_vision.cli.fit_cylinder:main'],
    },
)
