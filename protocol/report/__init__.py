"""Report: tables, figures and one page from a setting's results."""
