from setuptools import find_packages, setup

package_name = 'soft_arm_studies'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    python_requires='>=3.11',
    install_requires=[
        'soft_arm_control',
        'soft_arm_description',
        'soft_arm_experiments',
        'soft_arm_io',
        'soft_arm_kinematics',
        'soft_arm_physics',
        'soft_arm_sim',
        'soft_arm_vision',
        'dask',
        'distributed',
        'matplotlib',
        'mujoco',
        'numpy',
        'pyarrow',
        'pydantic>=2.9',
        'scipy',
        'tqdm',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='An experiment over many values of any key, on all cores or a Dask cluster.',
    license='Apache-2.0',
    extras_require={'test': ['hypothesis', 'pytest']},
    entry_points={
        'softarm.commands': ['study = soft_arm_studies.cli.study:main'],
    },
)
