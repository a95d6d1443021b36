"""The live display, the table and the page of evolved programs."""
