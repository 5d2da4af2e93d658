"""What the two sticky assignors share: keep what members had, as far as balance allows."""
