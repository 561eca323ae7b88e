"""Split protocols: how a dataset is divided into queries, database, training and validation sets."""
