"""Parts of a scene: robots from their files, rigid bodies, and markers."""
