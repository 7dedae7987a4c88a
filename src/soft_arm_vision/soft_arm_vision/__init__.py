"""Ring segmentation, cylinder fit and extrinsic calibration from a depth camera."""
