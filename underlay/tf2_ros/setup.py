from setuptools import find_packages, setup

package_name = 'tf2_ros'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(exclude=['test', 'test.*']),
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
    ],
    install_requires=['setuptools'],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description="Stand-in for ROS 2's tf2_ros: broadcasters, buffer and listener in Python.",
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
)
