"""Parts that import ROS: graph, recording and replay of bags, readiness of launches."""
