"""Measuring on devices elsewhere, by TVM's RPC: built here, run and checked there."""
