"""A sealed run signed with an Ed25519 key, as a DSSE envelope beside its evidence; and the check of one.

Source: DSSE v1.0.2 (pre-authentication encoding); the envelope is one JSON object that other tools read too.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from dfah_cli.canonical import parse
from dfah_cli.errors import ArtifactError, ConfigurationError, OptionalDependencyError, ValidationError, install_command
from dfah_cli.evidence.claims import Claim, Findings, refuse_failures
from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.gate.attestation import PAYLOAD_TYPE, statement
from dfah_cli.gate.record import GateRecord
from dfah_cli.report.record import Report
from dfah_cli.store.places import RunUrl, place_of
from dfah_cli.workflow.export import write_export

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    from dfah_cli.workflow.checking import CheckedRun

ENVELOPE = "attestation.dsse.json"
INSTALL = f"signing needs the package cryptography; run: {install_command('sign')}"


def pae(payload_type: str, payload: bytes) -> bytes:
    """The bytes a DSSE signature is over."""
    return b"DSSEv1 %d %b %d %b" % (len(payload_type), payload_type.encode(), len(payload), payload)


@frozen(kw_only=True)
class Signed:
    """An envelope that was written. result: PASSED or FAILED, as the recorded gate says."""

    path: Path | RunUrl
    key_id: str
    result: str
    signatures: int


def sign_run(run_dir: str | Path | RunUrl, key_file: str | Path, *, out: str | Path | None = None) -> Signed:
    """Signs the seal of a finished, gated run; a second key adds its signature to the same statement.

    Raises: ArtifactError when the run cannot be believed; ConfigurationError when it is not sealed or was never gated.
    """
    from dfah_cli.workflow.verification import verify_run

    key = _private_key(Path(key_file))
    found = verify_run(run_dir)
    refuse_failures(tuple(check for check in found.checks if check.claim is not Claim.SIGNATURE), str(run_dir))
    assert found.checked is not None
    assert found.tail is not None
    if not found.tail.sealed:
        raise ConfigurationError(f"{run_dir}: not sealed yet; finish the run first (dfah doctor {run_dir})")
    payload = _newest_statement(found.checked, place_of(run_dir))
    place = place_of(run_dir) / ENVELOPE if out is None else place_of(out)
    key_id = key_id_of(key.public_key())
    signatures = [one for one in _earlier(place, payload) if one.get("keyid") != key_id]
    signatures.append({"keyid": key_id, "sig": _text(key.sign(pae(PAYLOAD_TYPE, payload)))})
    envelope = {"payload": _text(payload), "payloadType": PAYLOAD_TYPE, "signatures": signatures}
    write_export(place, json.dumps(envelope, indent=1) + "\n")
    result = parse(payload)["predicate"]["result"]
    return Signed(path=place, key_id=key_id, result=result, signatures=len(signatures))


def _newest_statement(checked: CheckedRun, run_dir: Path | RunUrl) -> bytes:
    """The statement of the newest verdict on all episodes.

    Raises: ConfigurationError when there is none, or one that cannot be stated.
    """
    for run, report, record in _verdicts(checked):
        return statement(run, report, record, seal_sha256=seal_digest(run_dir) or "")
    raise ConfigurationError(
        f"{run_dir}: no gate was applied to all of its episodes, so there is no result to sign; "
        f"apply one first: dfah gate {run_dir} POLICY"
    )


def _verdicts(checked: CheckedRun) -> Iterator[tuple[VerifiedRun, Report, GateRecord]]:
    """Verdicts on the final episode set, newest first."""
    assert checked.run is not None
    for body in reversed(checked.run.gates):
        report = checked.reports[body["report"]]
        if report.commitment == checked.run.commitment:
            yield checked.run, report, checked.gates[body["ordinal"]]


def _statements(checked: CheckedRun, run_dir: Path | RunUrl) -> Iterator[bytes]:
    for run, report, record in _verdicts(checked):
        with suppress(ConfigurationError):  # a verdict that cannot be stated was not signed either
            yield statement(run, report, record, seal_sha256=seal_digest(run_dir) or "")


def _earlier(place: Path | RunUrl, payload: bytes) -> list[dict[str, Any]]:
    if not place.exists():
        return []
    envelope = read_envelope(place)
    return list(envelope.signatures) if envelope.payload == payload else []


@frozen(kw_only=True)
class Envelope:
    """A parsed envelope. signatures: each with `keyid` and `sig`."""

    payload: bytes
    payload_type: str
    signatures: tuple[dict[str, Any], ...]


def read_envelope(place: Path | RunUrl) -> Envelope:
    """The envelope in a file. Raises: ArtifactError when it is none."""
    try:
        found = parse(place.read_bytes(), place.name)
        return Envelope(
            payload=b64decode(found["payload"], validate=True),
            payload_type=found["payloadType"],
            signatures=tuple({"keyid": one["keyid"], "sig": one["sig"]} for one in found["signatures"]),
        )
    except (ValidationError, KeyError, TypeError, Base64Error, ValueError):
        raise ArtifactError(f"{place.name}: not a DSSE envelope; sign the run again", part=ENVELOPE) from None


def check_signature(
    run_dir: Path | RunUrl,
    checked: CheckedRun,
    public: Ed25519PublicKey | None,
    to: Findings,
    *,
    file: Path | RunUrl | None = None,
) -> None:
    """Decides the claim `signature`: the envelope states what this run gives and, with a key, its owner signed it.

    checked: a run whose other claims hold. file: the envelope, when it is not in the run directory.
    """
    file = run_dir / ENVELOPE if file is None else file
    if not file.exists():
        if public is not None:
            to.fail(Claim.SIGNATURE, f"a key was given, and there is no {file.name}")
        return
    try:
        envelope = read_envelope(file)
    except ArtifactError as problem:
        to.fail(Claim.SIGNATURE, str(problem))
        return
    to.checked(Claim.SIGNATURE)
    if envelope.payload_type != PAYLOAD_TYPE or envelope.payload not in _statements(checked, run_dir):
        to.fail(Claim.SIGNATURE, f"{file.name} does not state what this run and its recorded gate give")
    if public is not None:
        to.checked(Claim.SIGNATURE)
        if not any(_signed_by(public, one["sig"], envelope) for one in envelope.signatures):
            to.fail(Claim.SIGNATURE, f"{file.name} carries no right signature of key {key_id_of(public)[:16]}")


def _signed_by(public: Ed25519PublicKey, signature: Any, envelope: Envelope) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        public.verify(b64decode(signature, validate=True), pae(envelope.payload_type, envelope.payload))
    except (InvalidSignature, Base64Error, TypeError, ValueError):
        return False
    return True


def seal_digest(run_dir: Path | RunUrl) -> str | None:
    """SHA-256 of seal.json; None when there is none."""
    file = run_dir / "seal.json"
    return sha256(file.read_bytes()).hexdigest() if file.is_file() else None


def _text(payload: bytes) -> str:
    return b64encode(payload).decode("ascii")


# keys


def make_keys(private_file: str | Path) -> tuple[Path, Path, str]:
    """A new pair of key files, PEM: the private one owner-only, the public one beside it with `.pub`; and the key id.

    Raises: ConfigurationError when one of them exists: a key is never overwritten.
    """
    _need_library()
    from cryptography.hazmat.primitives import serialization as pem
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret, public = Path(private_file), Path(f"{private_file}.pub")
    key = Ed25519PrivateKey.generate()
    private_text = key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    public_text = key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    for place, payload, mode in ((secret, private_text, 0o600), (public, public_text, 0o644)):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(payload)
        except FileExistsError:
            raise ConfigurationError(f"{place}: exists; a key is never overwritten. Give another name") from None
        except OSError as problem:
            raise ConfigurationError(f"{place}: cannot be written ({problem.strerror})") from None
    return secret, public, key_id_of(key.public_key())


def key_id_of(public: Ed25519PublicKey) -> str:
    """SHA-256 of the key's SubjectPublicKeyInfo: `openssl pkey -pubin -in KEY.pub -outform DER | sha256sum`."""
    from cryptography.hazmat.primitives import serialization as pem

    return sha256(public.public_bytes(pem.Encoding.DER, pem.PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def _need_library() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise OptionalDependencyError(INSTALL) from None


def _private_key(place: Path) -> Ed25519PrivateKey:
    _need_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    payload = _key_text(place)
    try:
        key = load_pem_private_key(payload, password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigurationError(f"{place}: not an Ed25519 private key in PEM; make one with: dfah keygen FILE")
    return key


def public_key(place: Path) -> Ed25519PublicKey:
    """The public key in a PEM file. Raises: ConfigurationError."""
    _need_library()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_key_text(place))
    except ValueError:
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise ConfigurationError(f"{place}: not an Ed25519 public key in PEM; give the .pub file")
    return key


def _key_text(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError as problem:
        raise ConfigurationError(f"{place}: cannot be read ({problem.strerror})") from None
