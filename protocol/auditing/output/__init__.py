"""What an audit writes: texts and tables of findings, and lists without misplaced items."""
