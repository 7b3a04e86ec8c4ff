"""The service: HTTP over a bundle. `app` builds it, `runtime` is its state, `routes` its doors, `commands` start it."""
