from setuptools import find_packages, setup

package_name = 'soft_arm_kinematics'

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
        'soft_arm_io',
        'soft_arm_description',
        'llvmlite',
        'matplotlib>=3.8',
        'numba>=0.61',
        'numpy>=1.26',
        'pydantic>=2.9',
        'scipy>=1.12',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Kinematics of soft arms: arcs, Jacobians, pressure curves, workspace tables.',
    license='Apache-2.0',
    extras_require={
        'test': ['hypothesis', 'pytest', 'pyyaml'],
        'torch': ['torch'],
    },
    entry_points={
        'console_scripts': [
            'forward_kinematics = soft_arm_kinematics.ros.executables:forward_kinematics',
            'inverse_kinematics = soft_arm_kinematics.ros.executables:inverse_kinematics',
            'contact_estimator = soft_arm_kinematics.ros.executables:contact_estimator',
            'limb_states = soft_arm_kinematics.ros.executables:limb_states',
        ],
        'softarm.calibrate': [
            'curve = soft_arm_kinematics.cli.calibrate_curve:main',
            'modal = soft_arm_kinematics.cli.calibrate_modal:main',
        ],
        'softarm.commands': [
            'kinematics = soft_arm_kinematics.cli.kinematics:main',
        ],
    },
)
