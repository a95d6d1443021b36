"""Modules of StableHLO: whole models, whose operations are edited ("GEVO-ML", section 4)."""
