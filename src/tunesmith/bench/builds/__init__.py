"""`tunesmith bench builds`: what the seconds of builds go to."""
