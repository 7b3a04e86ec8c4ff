"""Every key, stream and channel the service uses in Redis, written once.

Keys that one script, transaction or blocking read touches share a hash tag (the part in braces) and so lie on one node
of a Redis Cluster; so do the channels that are published beside them.

A user's keys carry a digest of the user id: ids may hold braces, and a key list then names nobody.
"""

from hashlib import blake2b

PREFIX = "shortlist"


def user_tag(user_id: str) -> str:
    """Hash tag of one user's keys: 128 bits of the id as hex digits."""
    return blake2b(user_id.encode(), digest_size=16).hexdigest()


def history(user_id: str) -> str:
    """Sorted set: the user's events by timestamp."""
    return f"{PREFIX}:{{{user_tag(user_id)}}}:history"


def seen_events(user_id: str) -> str:
    """Sorted set: digests of the event ids that were applied lately, by order of arrival."""
    return f"{PREFIX}:{{{user_tag(user_id)}}}:seen"


EXPOSURES = f"{PREFIX}:{{exposures}}:stream"
EVENTS = f"{PREFIX}:{{events}}:stream"

SALTS = f"{PREFIX}:{{experiments}}:salts"
"""Hash: salt -> the variants and weights it was used with."""

GR = f"{PREFIX}:{{gr}}"
GR_WORKERS = f"{GR}:workers"
"""Hash: worker id -> its last heartbeat."""
GR_VERSIONS = f"{GR}:versions"
"""Set: bundle versions that have a request stream."""


def gr_requests(version: str) -> str:
    """Stream: GR requests that speak of one bundle version."""
    return f"{GR}:requests:{version}"


def gr_replies(process: str) -> str:
    """Channel: replies to one API process."""
    return f"{GR}:replies:{process}"
