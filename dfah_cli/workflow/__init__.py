"""The only place where recording and conclusions meet."""
