"""The rules that C keeps for certification (`profile=certifiable`), as parts of the writers of portable C: expressions, support functions,
refusals, and the evidence beside the source."""
