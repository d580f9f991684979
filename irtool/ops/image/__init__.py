"""Operators on images and volumes: resampling, warping, morphology."""
