from setuptools import find_packages, setup

package_name = 'soft_arm_node_kit'

setup(
    name=package_name,
    version='0.2.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=['soft_arm_io'],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Base classes, QoS profiles, parameters, diagnostics and the runner of all nodes.',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
)
