"""Base classes, QoS profiles, parameters, diagnostics and the runner of all nodes."""
