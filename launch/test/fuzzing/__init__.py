"""Bad input for every loader and command, from seeds."""
