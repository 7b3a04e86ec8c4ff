"""The documents of an evaluation, an audit and a comparison: typed, frozen, and all that the pages are drawn from."""
