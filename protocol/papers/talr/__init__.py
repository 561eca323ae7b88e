"""*Hashing as Tie-Aware Learning to Rank*: claims, and figures."""
