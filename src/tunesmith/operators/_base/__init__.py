"""What operators are made of: arguments, options, data types, post-ops and windows."""
