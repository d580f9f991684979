"""What operators become, one file for each family; `form.form_of` finds all of it."""
