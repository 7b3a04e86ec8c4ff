"""Load tests and benchmarks. They talk HTTP, start `shortlist` as a process, and import none of the other rooms."""
