"""Users in sinks: a keyed hash, the same in every sink, so that joins work and ids do not leave the service."""

import os
import secrets
from hashlib import blake2b
from pathlib import Path

KEY_BYTES = 32


def pseudonym(key: bytes, user_id: str) -> str:
    """128 bits of BLAKE2b keyed with `key` (at most 64 bytes), as hex digits."""
    return blake2b(user_id.encode(), key=key, digest_size=16).hexdigest()


def stored_key(path: Path) -> bytes:
    """The key kept in a file that only its owner may read; made on first use, by exactly one process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}-{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(secrets.token_hex(KEY_BYTES))
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return bytes.fromhex(path.read_text())
