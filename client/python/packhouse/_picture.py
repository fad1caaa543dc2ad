"""A small picture of packs, for notebooks."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packhouse.packs import Packs

_MOST_PACKS = 24
_MOST_UNITS = 120  # of a pack: they are 4 pixels wide then
_WIDTH, _ROW, _GAP = 480, 9, 2
_COLORS = ("#3b6fb6", "#7fa8d9", "#2f8f7f", "#86c5b8")


def picture_of(packs: Packs) -> str:
    """HTML with the first packs drawn, a row each, and what they are."""
    words = html.escape(repr(packs)[1:-1])
    if packs._sequence_lengths is None or len(packs) == 0:
        return f"<div>{words}</div>"
    shown = min(len(packs), _MOST_PACKS)
    height = shown * (_ROW + _GAP)
    scale = _WIDTH / packs.spec.capacity_tokens
    rows = []
    for pack in range(shown):
        y = pack * (_ROW + _GAP)
        rows.append(
            f'<rect x="0" y="{y}" width="{_WIDTH}" height="{_ROW}" '
            'fill="#e4e4e4"/>'
        )
        x = 0.0
        begin, end = int(packs.offsets[pack]), int(packs.offsets[pack + 1])
        shown_end = min(end, begin + _MOST_UNITS)
        for i in range(begin, shown_end):
            tokens = int(packs.lengths[i])
            rows.append(
                f'<rect x="{x:.1f}" y="{y}" width="{tokens * scale:.1f}" '
                f'height="{_ROW}" fill="{_COLORS[(i - begin) % 4]}">'
                f"<title>sequence {packs.ordinals[i]}: {tokens} tokens</title>"
                "</rect>"
            )
            x += tokens * scale
        if shown_end < end:
            tokens = int(packs.lengths[shown_end:end].sum(dtype="int64"))
            rows.append(
                f'<rect x="{x:.1f}" y="{y}" width="{tokens * scale:.1f}" '
                f'height="{_ROW}" fill="{_COLORS[0]}"><title>'
                f"{end - shown_end} more sequences: {tokens} tokens</title>"
                "</rect>"
            )
    more = f", the first {shown}" if shown < len(packs) else ""
    return (
        f"<div>{words}{more}</div>"
        f'<svg width="{_WIDTH}" height="{height}">{"".join(rows)}</svg>'
    )
