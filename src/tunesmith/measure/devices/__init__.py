"""What programs are measured on."""
