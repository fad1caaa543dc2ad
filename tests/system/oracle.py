"""The packing rules, straight from their definition and slow.

Shares nothing with the programs under test. docs/packing.md has the
definition in words.
"""

import json


def footprint(length, alignment):
    return -(-length // alignment) * alignment


def pack_window(window, capacity, algorithm, max_sequences, alignment):
    """Packs [(ordinal, length)]; returns lists of ordinals, in release order."""
    packs = []  # [room, ordinals], in the order of opening
    # sorted() is stable: equal footprints stay in order of arrival.
    for ordinal, length in sorted(
            window, key=lambda item: -footprint(item[1], alignment)):
        size = footprint(length, alignment)
        open_packs = [
            pack for pack in packs
            if not max_sequences or len(pack[1]) < max_sequences
        ]
        # min() and max() take the first of equals: the pack opened first.
        if algorithm == "spfhp":
            best = max(open_packs, key=lambda pack: pack[0], default=None)
            if best is not None and best[0] < size:
                best = None
        else:
            best = min((pack for pack in open_packs if pack[0] >= size),
                       key=lambda pack: pack[0], default=None)
        if best is None:
            packs.append([capacity - size, [ordinal]])
        else:
            best[0] -= size
            best[1].append(ordinal)
    packs.sort(key=lambda pack: pack[1][0])  # by opener
    return [sorted(ordinals) for _, ordinals in packs]


def units_of(lengths, capacity, alignment, overlong):
    """What is packed, in order of arrival: (ordinal, source offset, tokens)."""
    most = capacity // alignment * alignment
    units = []
    for ordinal, length in enumerate(lengths):
        if length == 0:
            continue
        if length <= most:
            units.append((ordinal, 0, length))
        elif overlong == "truncate":
            units.append((ordinal, 0, most))
        elif overlong == "truncate_head":
            units.append((ordinal, length - most, most))
        elif overlong == "split":
            units += [(ordinal, at, min(most, length - at))
                      for at in range(0, length, most)]
    return units


class SplitMix64:
    """Steele, Lea and Flood's generator."""

    MASK = 2**64 - 1

    def __init__(self, state):
        self.state = state

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & self.MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & self.MASK
        return z ^ (z >> 31)

    def below(self, limit):
        """Lemire's method: the high half of a product, low halves that would
        bias it drawn again."""
        while True:
            product = self.next() * limit
            if (product & self.MASK) >= 2**64 % limit:
                return product >> 64


def shuffled(packs, seed, window):
    """The packs of the window with this number in the order of the seed."""
    packs = list(packs)
    state = SplitMix64(seed).next() + window
    generator = SplitMix64(state & SplitMix64.MASK)
    for i in range(len(packs), 1, -1):
        j = generator.below(i)
        packs[i - 1], packs[j] = packs[j], packs[i - 1]
    return packs


def unit_plan(lengths, capacity, algorithm="spfhp", window=1024,
              max_sequences=0, alignment=1, overlong="error", empty="error",
              seed=None):
    """The packs of a whole stream: lists of units, in release order."""
    del empty  # "error" needs no plan, and "drop" is what units_of does
    units = units_of(lengths, capacity, alignment, overlong)
    items = [(number, unit[2]) for number, unit in enumerate(units)]
    packs = []
    for start in range(0, len(items), window):
        of_window = pack_window(items[start:start + window], capacity,
                                algorithm, max_sequences, alignment)
        if seed is not None:
            of_window = shuffled(of_window, seed, start // window)
        packs += of_window
    return [[units[number] for number in pack] for pack in packs]


def plan(lengths, capacity, **spec):
    """The packs of sequences that are all packed whole, as their ordinals."""
    return [[unit[0] for unit in pack]
            for pack in unit_plan(lengths, capacity, **spec)]


def displacement(packs):
    """The most sequences of later ordinal that left in an earlier pack."""
    earlier, most = [], 0
    for pack in packs:
        for ordinal in pack:
            most = max(most, sum(1 for other in earlier if other > ordinal))
        earlier += pack
    return most


def packs_text(lengths, packs, stream=None):
    """Packs of whole sequences as a PACKS file holds them."""
    return units_text(lengths, [[(i, 0, lengths[i]) for i in pack]
                                for pack in packs], stream)


def units_text(lengths, packs, stream=None):
    """Packs of units as a PACKS file holds them."""
    lines = []
    for pack in packs:
        line = {"ordinals": [ordinal for ordinal, _, _ in pack],
                "lengths": [tokens for _, _, tokens in pack]}
        if any(tokens != lengths[ordinal] for ordinal, _, tokens in pack):
            line["source_offsets"] = [offset for _, offset, _ in pack]
        if stream is not None:
            line["stream"] = stream
        lines.append(json.dumps(line, separators=(",", ":")) + "\n")
    return "".join(lines)


def streams_text(lengths, streams, **spec):
    """The PACKS file of a list that goes over several streams."""
    if streams == 1:
        return units_text(lengths, unit_plan(lengths, **spec))
    shares = [lengths[k::streams] for k in range(streams)]
    return "".join(
        units_text(share, unit_plan(share, **spec), stream=k)
        for k, share in enumerate(shares))
