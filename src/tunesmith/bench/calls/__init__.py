"""`tunesmith bench calls`: what a call of a kernel costs."""
