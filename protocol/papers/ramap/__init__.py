"""*On the Evaluation Metric for Hashing* (RAMAP): claims, and figures."""
