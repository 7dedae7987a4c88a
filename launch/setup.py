from glob import glob

from setuptools import setup

package_name = 'soft_arm_bringup'

setup(
    name=package_name,
    version='0.1.0',
    packages=[],
    data_files=[
        ('share/ament_index/resource_index/packages', ['resource/' + package_name]),
        ('share/' + package_name, ['package.xml']),
        ('share/' + package_name + '/launch', glob('*.launch.xml')),
    ],
    install_requires=['setuptools'],
    zip_safe=True,
    maintainer='soft_arm maintainers',
    maintainer_email='maintainers@soft-arm.example.org',
    description='Launch files of the rigs, and the tests of the whole system.',
    license='Apache-2.0',
    extras_require={'test': ['pytest']},
)
