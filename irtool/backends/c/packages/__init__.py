"""Libraries in the layouts of other build systems, as data: `layouts.toml` has a table for each, `templates/` the files beside the C."""
