"""The virtual rig: plant, depth camera and device emulators."""
