"""Expressions over parameters, for constraints: parsed, and evaluated on values or columns."""
