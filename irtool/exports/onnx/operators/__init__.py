"""Forms of operators, one file for each family; `form.form_of` finds them."""
