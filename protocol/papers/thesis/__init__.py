"""*Learning to Hash for Large Scale Image Retrieval*, chapter 3: claims, and figures."""
