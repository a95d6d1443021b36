"""`tunesmith report` and `dashboard`: pages for people."""
