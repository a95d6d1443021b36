"""The device's end: a server that runs programs, which needs TVM's runtime and no compiler."""
