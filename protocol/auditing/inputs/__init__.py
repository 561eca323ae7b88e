"""What an audit reads: splits, and what is known about the items of their dataset."""
