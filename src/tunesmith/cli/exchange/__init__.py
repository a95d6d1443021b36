"""`tunesmith export` and `import`: records in files."""
