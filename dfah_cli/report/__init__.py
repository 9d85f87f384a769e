"""The statement about a verified run."""
