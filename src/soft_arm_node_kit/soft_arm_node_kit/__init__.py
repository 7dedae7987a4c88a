"""What every node shares: QoS, parameters, runner, diagnostics."""
