"""TensorFlow Lite's operators, one class each; a family of them in a file."""
