"""How programs are lowered."""
