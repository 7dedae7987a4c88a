"""What needs ROS: the graph as it runs, recording and replay of bags, the node of launches."""
