"""Counting: how many database items of each relevance level lie at each Hamming distance from a query."""
