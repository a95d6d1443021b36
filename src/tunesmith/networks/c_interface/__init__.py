"""Networks called from C and C++: headers, examples, and what a library says of itself in C."""
