"""The pages: each has a layout, and callbacks that fill it and keep it up to date."""
