"""What PlanDevices is made of: the devices there are, constraints between expressions, and writing down what follows."""
