"""Launch files, rig configurations, the softarm command and system tests."""
