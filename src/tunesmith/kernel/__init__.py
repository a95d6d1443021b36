"""Built programs that people call, and the files that they are saved in."""
