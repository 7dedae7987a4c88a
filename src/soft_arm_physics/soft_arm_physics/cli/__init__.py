"""Commands: `softarm sim`, `softarm calibrate`."""
