"""The experiments of AutoTVM's paper, and what the product is worth on new operators."""
