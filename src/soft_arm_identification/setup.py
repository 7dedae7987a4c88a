from setuptools import find_packages, setup

package_name = 'soft_arm_identification'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={package_name: ['mappings/*.yaml']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    python_requires='>=3.11',
    install_requires=[
        'soft_arm_description',
        'soft_arm_io',
        'softarm_cli',
        'matplotlib',
        'numpy',
        'pydantic>=2.9',
        'scipy',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Recordings of any arm.',
    license='Apache-2.0',
    extras_require={'test': ['pytest', 'pyyaml', 'rosbags']},
    entry_points={
        'softarm.recording': [
            'import = soft_arm_identification.cli.recording_import:main',
            'leak = soft_arm_identification.cli.recording_leak:main',
            'plot = soft_arm_identification.cli.recording_plot:main',
        ],
    },
)
