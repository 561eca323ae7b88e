"""Audit: findings on how a split was made."""
