"""Commands of `softarm sim`."""
