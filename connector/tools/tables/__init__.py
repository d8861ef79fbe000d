"""Long tables: one row per rating, with columns unit, rater, value and, where there are several questions, question."""
