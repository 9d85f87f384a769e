"""Episodes on a Ray cluster, each in an actor that has loaded the agent by itself. Needs the extra `ray`."""
