"""Networks of other frameworks, as Relax modules."""
