"""Views as text, one file per format; no metric arithmetic."""
