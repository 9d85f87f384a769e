"""Lines of a file, each encrypted by itself, with a key made of a secret text."""

from __future__ import annotations

import hashlib
import os
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

from attrs import field, frozen

from dfah_cli.errors import ConfigurationError, OptionalDependencyError, ValidationError, install_command
from dfah_cli.records import fields

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

INSTALL = f"an encrypted recording needs the package cryptography; run: {install_command('sign')}"
NAME, KDF = "AES-256-GCM", "scrypt"
# 32 MiB and some tens of milliseconds, once a file.
COST, BLOCK, LANES, MEMORY = 2**15, 8, 1, 64 * 1024 * 1024
NONCE = 12
MIN_SECRET = 16
CHECKED = b"dfah"


@frozen(kw_only=True)
class Cipher:
    """How the lines are encrypted. salt, check: base64; check shows a wrong key at once."""

    name: str = field(default=NAME, validator=fields.one_of(NAME))
    kdf: str = field(default=KDF, validator=fields.one_of(KDF))
    salt: str = field(validator=fields.prose)
    check: str = field(default="", validator=fields.prose)

    @classmethod
    def fresh(cls) -> Cipher:
        """With a salt of its own."""
        return cls(salt=b64encode(os.urandom(16)).decode())


class LineCipher:
    """Encrypts and opens lines that belong to one file, each in its place."""

    def __init__(self, box: AESGCM, bound_to: bytes) -> None:
        self._box, self._bound_to = box, hashlib.sha256(bound_to).digest()

    @classmethod
    def of(cls, cipher: Cipher, secret: str, *, bound_to: bytes) -> LineCipher:
        """The cipher of a file. bound_to: what else the lines belong to.

        Raises: ConfigurationError for a short secret; OptionalDependencyError.
        """
        if len(secret) < MIN_SECRET:
            raise ConfigurationError(
                f"tools_key_env: found fewer than {MIN_SECRET} characters; expected a random key, "
                'such as `python -c "import secrets; print(secrets.token_hex(32))"` prints'
            )
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise OptionalDependencyError(INSTALL) from None
        salt = b64decode(cipher.salt)
        key = hashlib.scrypt(secret.encode(), salt=salt, n=COST, r=BLOCK, p=LANES, maxmem=MEMORY, dklen=32)
        return cls(AESGCM(key), bound_to)

    def sealed(self, text: bytes, number: int) -> bytes:
        """Nonce and ciphertext of the line of this number."""
        nonce = os.urandom(NONCE)
        return nonce + self._box.encrypt(nonce, text, self._place(number))

    def opened(self, sealed: bytes, number: int) -> bytes:
        """The text of a line.

        Raises: ValidationError when key, file, place or content is another.
        """
        from cryptography.exceptions import InvalidTag

        try:
            return self._box.decrypt(sealed[:NONCE], sealed[NONCE:], self._place(number))
        except (InvalidTag, ValueError):
            raise ValidationError("line: cannot be opened") from None

    def check(self) -> str:
        """What `Cipher.check` is for this key."""
        return b64encode(self.sealed(CHECKED, 0)).decode()

    def is_right(self, cipher: Cipher) -> bool:
        """Whether this is the key that the check was made with."""
        try:
            return self.opened(b64decode(cipher.check), 0) == CHECKED
        except ValueError:
            return False

    def _place(self, number: int) -> bytes:
        return self._bound_to + number.to_bytes(8, "big")
