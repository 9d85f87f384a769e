"""Episodes: intent, call, judge, commit."""
