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


def plan(lengths, capacity, algorithm="spfhp", window=1024, max_sequences=0,
         alignment=1):
    """The packs of a whole stream: lists of ordinals, in release order."""
    items = list(enumerate(lengths))
    return [
        pack for start in range(0, len(items), window)
        for pack in pack_window(items[start:start + window], capacity,
                                algorithm, max_sequences, alignment)
    ]


def displacement(packs):
    """The most sequences of later ordinal that left in an earlier pack."""
    earlier, most = [], 0
    for pack in packs:
        for ordinal in pack:
            most = max(most, sum(1 for other in earlier if other > ordinal))
        earlier += pack
    return most


def packs_text(lengths, packs, stream=None):
    """The packs as a PACKS file holds them."""
    lines = []
    for pack in packs:
        line = {"ordinals": pack, "lengths": [lengths[i] for i in pack]}
        if stream is not None:
            line["stream"] = stream
        lines.append(json.dumps(line, separators=(",", ":")) + "\n")
    return "".join(lines)


def streams_text(lengths, streams, **spec):
    """The PACKS file of a list that goes over several streams."""
    if streams == 1:
        return packs_text(lengths, plan(lengths, **spec))
    shares = [lengths[k::streams] for k in range(streams)]
    return "".join(
        packs_text(share, plan(share, **spec), stream=k)
        for k, share in enumerate(shares))
