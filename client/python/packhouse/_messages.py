"""The messages of the protocol, and how a session's structs travel in them.

Classes are made when this is imported, from the contract that the package was
built with: there is no generated code, which would be tied to a version of
protobuf.
"""

from __future__ import annotations

import importlib.resources
from typing import Any

import numpy as np
import numpy.typing as npt
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from packhouse import _core
from packhouse.spec import Spec

_PACKAGE = "packhouse.v1"
PACK_METHOD = f"/{_PACKAGE}.PackerService/Pack"

_OVERLONG = ("error", "drop", "truncate", "truncate_head", "split")
_EMPTY = ("error", "drop")
_EFFORT = ("fast", "balanced", "thorough")


def _classes() -> dict[str, Any]:
    contract = importlib.resources.files("packhouse") / "packhouse.desc"
    files = descriptor_pb2.FileDescriptorSet.FromString(contract.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return {
        name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")
        )
        for name in ("PackRequest", "PackResponse")
    }


_CLASSES = _classes()
PackRequest = _CLASSES["PackRequest"]
PackResponse = _CLASSES["PackResponse"]


def request_of(content: tuple[Any, ...], spec: Spec) -> Any:
    """The message of what a session wants to send."""
    kind, *fields = content
    message = PackRequest()
    if kind == "open":
        version, stream_id, incarnation, state, received = fields
        opening = message.open
        opening.protocol_version = version
        _write_spec(spec, opening.spec)
        opening.stream_id = stream_id
        opening.incarnation = incarnation
        if state is not None:
            opening.resume.state = state
            opening.resume.received_packs = received
    elif kind == "batch":
        message.batch.number = fields[0]
        message.batch.lengths.extend(fields[1].tolist())
    elif kind == "flush":
        message.flush.number = fields[0]
    else:
        message.end.number = fields[0]
    return message


def _write_spec(spec: Spec, message: Any) -> None:
    message.capacity_tokens = spec.capacity_tokens
    message.algorithm = spec.algorithm
    message.window_sequences = spec.window
    message.max_sequences_per_pack = spec.max_sequences
    message.sequence_alignment = spec.alignment
    message.overlong = 1 + _OVERLONG.index(spec.overlong)
    message.empty = 1 + _EMPTY.index(spec.empty)
    message.effort = 1 + _EFFORT.index(spec.effort)
    message.max_displacement = spec.max_displacement
    message.budget_seconds = spec.budget
    if spec.seed is not None:
        message.seed = spec.seed


def receive(session: _core.ClientSession, message: Any) -> None:
    """Gives a response to the session.

    Raises:
        RuntimeError: It breaks the protocol.
        ValueError: The server refused a batch.
    """
    credit = None
    if message.HasField("credit"):
        said = message.credit
        credit = (said.received_number, said.max_number, said.max_sequences)
    kind = message.WhichOneof("event")
    event: Any = None if kind is None else getattr(message, kind)
    if kind == "packs":
        session.receive_packs(
            event.first_number,
            event.base_ordinal,
            _array(event.sizes),
            _array(event.ordinals),
            _array(event.source_offsets),
            credit,
        )
    elif kind == "opened":
        session.receive_opened(
            event.protocol_version,
            event.server_incarnation,
            event.max_batch_sequences,
            event.snapshot_sequences,
            event.snapshot_inputs,
            credit,
        )
    elif kind == "refused":
        session.receive_refused(event.number, event.code, event.message, credit)
    elif kind == "ended":
        session.receive_ended(event.sequences, event.packs, event.units, credit)
    elif kind == "snapshot":
        session.receive_snapshot(
            event.received_number,
            event.sequences,
            event.packs,
            event.state,
            credit,
        )
    elif kind == "drain":
        session.receive_drain(event.grace_seconds, credit)
    else:
        session.receive_credit(credit)


def _array(field: Any) -> npt.NDArray[np.uint32]:
    return np.fromiter(field, np.uint32, len(field))
