"""What people look at: where a network's time goes, and what tuning has brought."""
