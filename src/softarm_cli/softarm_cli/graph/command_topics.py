"""Command topics, which a replay omits (docs/reference/interfaces.md)."""

# Types of set points, each with the names of topics that are measurements instead.
_SET_POINTS = {
    'soft_arm_msgs/msg/ChamberPressures': ('pressures',),
    'soft_arm_msgs/msg/ArmConfiguration': ('configuration',),
    'soft_arm_msgs/msg/TipTarget': (),
    'sensor_msgs/msg/Joy': (),
    'trajectory_msgs/msg/JointTrajectory': (),
    'geometry_msgs/msg/Twist': (),
    'geometry_msgs/msg/TwistStamped': (),
}
_COMMAND_WORDS = ('command', 'cmd')


def is_command(topic: str, type_name: str) -> bool:
    """Return whether a topic, in any namespace, commands a motion.

    Args:
        topic: Full name of the topic.
        type_name: Type, such as `soft_arm_msgs/msg/ChamberPressures`.
    """
    name = topic.rsplit('/', 1)[-1]
    is_set_point = type_name in _SET_POINTS and name not in _SET_POINTS[type_name]
    return is_set_point or any(word in name.lower() for word in _COMMAND_WORDS)
