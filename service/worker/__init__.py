"""The worker: generative retrieval in a process of its own, behind a queue with deadlines and admission."""
