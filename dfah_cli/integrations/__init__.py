"""Optional: each one lazy."""
