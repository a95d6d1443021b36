"""The pass pipelines that lower programs, and our own passes."""
