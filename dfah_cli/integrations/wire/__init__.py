"""What really went over the wire between an agent and its provider, whichever framework sent it."""
