"""Features: one file each, images in, float32 vectors out; and the preprocessing fitted on the training set."""
