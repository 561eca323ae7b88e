"""What identifies a file and a score: stored arrays with their origin, checksums, digests of code, and seeds."""
