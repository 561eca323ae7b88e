"""*Evaluation metrics* (mAP@p, nDCG@p): claims."""
