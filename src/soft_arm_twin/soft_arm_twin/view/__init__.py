"""`softarm view`: robots, assemblies and worlds by kinematics or physics, without any graph."""
