"""Front ends: modules of other systems as Relay modules. Each format is a package of its own."""
