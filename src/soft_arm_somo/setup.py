from setuptools import find_packages, setup

package_name = 'soft_arm_somo'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    python_requires='>=3.11',
    install_requires=['soft_arm_io', 'soft_arm_description', 'numpy>=1.26', 'pydantic>=2.9'],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Import of definitions of the simulator SoMo as robot and assembly files.',
    license='Apache-2.0',
    extras_require={'test': ['pytest', 'pyyaml', 'scipy']},
    entry_points={'softarm.import': ['somo = soft_arm_somo.cli:main']},
)
