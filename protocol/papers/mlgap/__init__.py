"""*Mean Local Group Average Precision*: claims, and figures."""
