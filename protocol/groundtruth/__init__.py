"""Ground truths: rules that say which database items are relevant to a query."""
