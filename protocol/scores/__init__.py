"""Tables of scores: what identifies a score, the summary of an experiment, tests and intervals, and their output."""
