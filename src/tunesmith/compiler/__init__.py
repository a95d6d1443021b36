"""Compiles programs to machine code with TVM's passes, our own passes, and LLVM."""
