from setuptools import find_packages, setup

package_name = 'soft_arm_training'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=[
        'soft_arm_calibration',
        'soft_arm_description',
        'soft_arm_io',
        'soft_arm_sim',
        'soft_arm_vision',
        'softarm_cli',
        'numpy',
        'opencv-python-headless',
        'pycocotools',
        'pydantic>=2.9',
        'tqdm',
        'typing-extensions',
    ],
    extras_require={'test': ['pytest', 'pyyaml'], 'torch': ['torch']},
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Data sets of the ring, rendered or recorded, and training of its segmenter.',
    license='Apache-2.0',
    entry_points={
        'softarm.vision': [
            'extract = soft_arm_training.cli.vision_extract:main',
            'label = soft_arm_training.cli.vision_label:main',
        ],
        'softarm.train': ['ring-segmenter = soft_arm_training.cli.train_ring_segmenter:main'],
    },
)
