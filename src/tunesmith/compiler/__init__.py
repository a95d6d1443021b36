"""From a program to machine code: TVM's passes, some of our own, and LLVM."""
