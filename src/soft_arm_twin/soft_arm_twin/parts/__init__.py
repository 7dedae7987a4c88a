"""Parts of a scene: robots from their files, rigid bodies, and what marks something in space."""
