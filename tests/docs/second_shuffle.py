"""The shuffle of docs/store-format.md, section "Plan and schedule", without a library."""

from __future__ import annotations


class Mixer:
    """MT19937, seeded by `init_by_array`, and the shuffle made with it."""

    def __init__(self, seed: int) -> None:
        seed, key = abs(seed), list[int]()
        while seed or not key:
            key.append(seed & 0xFFFFFFFF)
            seed >>= 32
        s = [19650218]
        for i in range(1, 624):
            s.append((1812433253 * (s[-1] ^ s[-1] >> 30) + i) & 0xFFFFFFFF)
        i, j = 1, 0
        for rounds, factor in ((max(624, len(key)), 1664525), (623, 1566083941)):
            for _ in range(rounds):
                added = key[j] + j if factor == 1664525 else -i
                s[i] = ((s[i] ^ (s[i - 1] ^ s[i - 1] >> 30) * factor) + added) & 0xFFFFFFFF
                i, j = i + 1, (j + 1) % len(key)
                if i == 624:
                    s[0], i = s[623], 1
        s[0] = 0x80000000
        self.s, self.at = s, 624

    def word(self) -> int:
        if self.at == 624:
            s = self.s
            for i in range(624):
                y = s[i] & 0x80000000 | s[(i + 1) % 624] & 0x7FFFFFFF
                s[i] = s[(i + 397) % 624] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
            self.at = 0
        y = self.s[self.at]
        self.at += 1
        y ^= y >> 11
        y ^= y << 7 & 0x9D2C5680
        y ^= y << 15 & 0xEFC60000
        return y ^ y >> 18

    def shuffled(self, items: list[int]) -> list[int]:
        for i in range(len(items) - 1, 0, -1):
            bits = (i + 1).bit_length()
            j = self.word() >> 32 - bits
            while j > i:
                j = self.word() >> 32 - bits
            items[i], items[j] = items[j], items[i]
        return items
