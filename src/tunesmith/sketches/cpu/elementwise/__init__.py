"""Chains of elementwise operations: streams of vectors.

``sketch`` has the space, ``program`` the code of a blocking, ``estimate`` its time.
"""
