"""A policy applied to a report: yes, no, or not enough, with reasons."""
