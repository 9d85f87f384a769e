"""The tree is RFC 6962's, and every proof that is issued verifies while every altered one does not."""

from __future__ import annotations

from base64 import b64decode
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli import merkle

DIGESTS = st.lists(st.binary(min_size=32, max_size=32), max_size=70)


def recursive_root(digests: list[bytes]) -> bytes:
    """The definition of RFC 6962 section 2.1, word for word."""
    if not digests:
        return sha256(b"").digest()
    if len(digests) == 1:
        return sha256(b"\x00" + digests[0]).digest()
    split = 1
    while split * 2 < len(digests):
        split *= 2
    return sha256(b"\x01" + recursive_root(digests[:split]) + recursive_root(digests[split:])).digest()


def some_digests(count: int) -> list[bytes]:
    return [sha256(bytes([number])).digest() for number in range(count)]


def test_empty_root_is_the_digest_of_nothing() -> None:
    assert merkle.EMPTY_ROOT.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert merkle.tree_root([]) == merkle.EMPTY_ROOT


@given(DIGESTS)
def test_the_compact_range_gives_the_recursive_root(digests: list[bytes]) -> None:
    tree = merkle.CompactRange()
    for count, digest in enumerate(digests, start=1):
        tree.append(digest)
        assert tree.root() == recursive_root(digests[:count])
    assert tree.size == len(digests)


def test_a_copy_of_a_range_grows_apart_from_it() -> None:
    tree = merkle.CompactRange()
    for digest in some_digests(5):
        tree.append(digest)
    twin, before = tree.copy(), tree.root()
    twin.append(b"\x07" * 32)
    assert tree.root() == before != twin.root()


@pytest.mark.parametrize("size", range(1, 34))
def test_every_inclusion_proof_verifies_and_for_its_own_leaf_only(size: int) -> None:
    digests = some_digests(size)
    root = merkle.tree_root(digests)
    for index in range(size):
        proof = merkle.inclusion_proof(digests, index)
        assert len(proof) <= (size - 1).bit_length()
        assert merkle.verify_inclusion(digests[index], index, size, proof, root)
        assert not merkle.verify_inclusion(b"\x00" * 32, index, size, proof, root)
        assert not merkle.verify_inclusion(digests[index], size, size, proof, root)
        if size > 1:
            assert not merkle.verify_inclusion(digests[index], (index + 1) % size, size, proof, root)
            assert not merkle.verify_inclusion(digests[index], index, size, proof[:-1], root)
        assert not merkle.verify_inclusion(digests[index], index, size, [*proof, root], root)


@pytest.mark.parametrize("size", range(34))
def test_every_consistency_proof_verifies_and_no_altered_one(size: int) -> None:
    digests = some_digests(size)
    new_root = merkle.tree_root(digests)
    for old in range(size + 1):
        old_root = merkle.tree_root(digests[:old])
        proof = merkle.consistency_proof(digests, old)
        assert merkle.verify_consistency(old, size, proof, old_root, new_root)
        assert not merkle.verify_consistency(old, size, proof, b"\x01" * 32, new_root)
        if 0 < old < size:
            assert not merkle.verify_consistency(old, size, proof, old_root, b"\x01" * 32)
            assert not merkle.verify_consistency(old, size, proof[:-1], old_root, new_root)
            assert not merkle.verify_consistency(old, size, [*proof, new_root], old_root, new_root)
    assert not merkle.verify_consistency(size + 1, size, [], new_root, new_root)


def test_a_proof_of_a_leaf_that_is_not_there_is_refused() -> None:
    with pytest.raises(IndexError):
        merkle.inclusion_proof(some_digests(3), 3)
    with pytest.raises(IndexError):
        merkle.consistency_proof(some_digests(3), 4)


@given(st.permutations(range(8)))
def test_the_episode_root_does_not_depend_on_completion_order(order: list[int]) -> None:
    episodes = [(f"CASE-{number % 3}", number // 3, sha256(bytes([number])).hexdigest()) for number in range(8)]
    expected = merkle.tree_root(bytes.fromhex(h) for _, _, h in sorted(episodes)).hex()
    assert merkle.episode_root([episodes[number] for number in order]) == expected


def test_the_commitment_is_the_digest_of_its_written_form() -> None:
    plan, root = "ab" * 32, "cd" * 32
    stated = f'{{"alg":"rfc6962-sha256","episodes":4,"plan":"{plan}","root":"{root}","v":1}}'
    made = merkle.commitment(episodes=4, episode_root=root, plan_sha256=plan)
    assert made == sha256(stated.encode()).hexdigest()


def test_the_checkpoint_has_three_lines() -> None:
    origin, size, root = merkle.checkpoint_text("dfah/run/x", 7, b"\x05" * 32).splitlines()
    assert (origin, size, b64decode(root)) == ("dfah/run/x", "7", b"\x05" * 32)
