from setuptools import find_packages, setup

package_name = 'soft_arm_identification'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={package_name: ['mappings/*.yaml', 'sets/*.yaml']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    python_requires='>=3.11',
    install_requires=[
        'soft_arm_control',
        'soft_arm_description',
        'soft_arm_io',
        'soft_arm_kinematics',
        'softarm_cli',
        'dask',
        'matplotlib',
        'numpy',
        'pydantic>=2.9',
        'scipy',
        'tqdm',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Recordings of any arm, and models that are fitted to them.',
    license='Apache-2.0',
    extras_require={
        'test': ['soft_arm_physics', 'pytest', 'pyyaml', 'rosbags'],
        'mujoco': ['mujoco'],
        'torch': ['torch'],
    },
    entry_points={
        'soft_arm.models': [
            'constant_curvature = soft_arm_identification.models.constant_curvature:static',
            'constant_curvature_memory = '
            'soft_arm_identification.models.constant_curvature:with_memory',
            'koopman = soft_arm_identification.models.koopman:Koopman',
            'mujoco = soft_arm_identification.models.mujoco_chain:MujocoChain',
            'polynomial = soft_arm_identification.models.regression:Polynomial',
            'polynomial_lags = soft_arm_identification.models.regression:with_lags',
            'recurrent = soft_arm_identification.models.recurrent:Recurrent',
        ],
        'softarm.commands': ['identify = soft_arm_identification.cli.identify:main'],
        'softarm.benchmark': ['arms = soft_arm_identification.cli.benchmark_arms:main'],
        'softarm.recording': [
            'import = soft_arm_identification.cli.recording_import:main',
            'leak = soft_arm_identification.cli.recording_leak:main',
            'plot = soft_arm_identification.cli.recording_plot:main',
        ],
    },
)
