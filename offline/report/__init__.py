"""Results that people look at: measured into one document, shown as a page, as JSON and as CSV."""
