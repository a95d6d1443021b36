"""The loop: searches propose, a measurer measures, a store keeps, until the budget ends."""
