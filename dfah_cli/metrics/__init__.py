"""Agreement and its uncertainty. Pure: no I/O, no clock, seeds are arguments."""
