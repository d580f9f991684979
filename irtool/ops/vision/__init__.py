"""Operators of object detection: anchors, box suppression, regions of interest."""
