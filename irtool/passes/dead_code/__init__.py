"""What DeadCodeElimination asks: which values are pure, and how often variables are used."""
