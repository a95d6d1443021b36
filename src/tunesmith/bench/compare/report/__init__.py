"""What a comparison shows: tables, charts, and the pages made of them."""
