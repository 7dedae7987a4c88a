"""Training of the ring segmenter with torch, and its export to ONNX."""
