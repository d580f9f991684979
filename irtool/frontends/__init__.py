"""Ways in: what other systems wrote, as Relay modules. Each format is a package of its own."""
