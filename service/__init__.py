"""The service: HTTP over a bundle. `app` builds it, `runtime` is its state, `routes` are its doors, `commands` start it."""
