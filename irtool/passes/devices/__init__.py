"""The parts of PlanDevices: devices of a module, constraints between expressions, and annotations for the result."""
