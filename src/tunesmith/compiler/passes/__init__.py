"""How programs are lowered: TVM's passes, and what is done besides."""
