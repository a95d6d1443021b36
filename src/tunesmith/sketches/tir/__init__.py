"""Building blocks of programs in TVM's TIR, for sketches that write them loop by loop."""
