"""What public evaluators do, and which of it explains a number."""
