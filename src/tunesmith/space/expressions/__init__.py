"""Expressions over parameters, for constraints: read, and evaluated on scalars or columns."""
