from setuptools import find_packages, setup

package_name = 'pneumatic_driver'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    package_data={package_name: ['maps/*.yaml']},
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=[
        'soft_arm_io',
        'soft_arm_description',
        'numpy',
        'pydantic>=2.9',
        'pymodbus[serial]>=3.10',
    ],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Valve boards and the PCU2-V over Modbus TCP and RTU, with watchdog and vent.',
    license='Apache-2.0',
    extras_require={'test': ['soft_arm_sim', 'hypothesis', 'pytest', 'pyyaml']},
    entry_points={
        'console_scripts': [
            'pcu2v_driver = pneumatic_driver.ros.executables:pcu2v_driver',
            'pneumatic_driver = pneumatic_driver.ros.executables:pneumatic_driver',
        ],
    },
)
