"""Packing in a packhoused: a `Stream` is a `Packer` that is somewhere else.

The protocol is the session's, which is that of the C++ client; here are its
connections. Each is a call of grpcio, whose responses a thread puts into a
queue. Nothing of gRPC starts before a stream has something to send, so that a
process may fork until then. All waiting is in one place, `_wait`, and has a
limit.
"""

from __future__ import annotations

import dataclasses
import os
import queue
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from packhouse import _core
from packhouse.lengths import as_lengths
from packhouse.packer import Packer, check_state
from packhouse.packs import Packs
from packhouse.spec import Spec, make_spec

if TYPE_CHECKING:
    import grpc

_STATE_VERSION = 1
_MAX_MESSAGE_BYTES = 16 << 20
_MAX_BATCH = 1 << 16
_MAX_TARGETS = 16

# Waits between tries double from the first to the last; each is drawn anew
# from 0 to that, so that the clients of a lost server do not return as one.
_FIRST_WAIT = 0.05
_LAST_WAIT = 2.0


class Unavailable(ConnectionError):
    """No server answered within the time that was allowed."""


class DeadlineExceeded(Unavailable, TimeoutError):
    """The same, and the last server that was tried was silent."""


@dataclasses.dataclass(frozen=True)
class Tls:
    """How to speak TLS to a server; files are PEM.

    Attributes:
        ca_file: The authorities that its certificate may come from; None for
            those that grpcio brings.
        cert_file: What this client shows a server that asks, and its issuers.
        key_file: The key of that, without a password. Both or none.
        server_name: The name that the server's certificate must have; None for
            the target's host.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    server_name: str | None = None

    def __post_init__(self) -> None:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("a cert_file needs a key_file, and the other way")


class Stream:
    """One stream of sequences, packed by a server.

    It has the methods of `packhouse.Packer` and gives the same packs. It lives
    on where its server dies: another connection, to this server or the next
    target, goes on from the last snapshot. Not for several threads, and not to
    be taken into a forked child once it has been used.
    """

    def __init__(
        self,
        target: str,
        capacity_tokens: int | Spec,
        *,
        batch: int = 1024,
        answer_within: float = 10.0,
        unavailable_for: float = 60.0,
        tls: Tls | None = None,
        stream_id: str | None = None,
        **options: Any,
    ) -> None:
        """Prepares a stream; nothing is connected yet.

        Args:
            target: "unix:PATH", "HOST:PORT" or "[IPV6]:PORT"; several with
                commas between them are tried in this order, again and again.
            capacity_tokens: Tokens that a pack holds, or a whole `Spec`.
            batch: Lengths that are gathered into one message, 1 to 65536.
            answer_within: Seconds that a server which owes an answer may be
                silent before the next target is tried.
            unavailable_for: Seconds that targets are tried while none of them
                answers; with 0 the first failure is final.
            tls: How to speak TLS; None for plaintext.
            stream_id: Its name at the server; a random one if None.
            options: Those of `Spec`.

        Raises:
            ValueError: As `Spec`; also for a rule that packs whole lists only,
                a target that is none, or a number out of its range.
        """
        self.spec = make_spec(capacity_tokens, options)
        Packer(self.spec)  # refuses what packs no streams
        self.targets = _targets_of(target)
        _check_range("batch", batch, 1, _MAX_BATCH)
        _check_range("answer_within", answer_within, 0.001, 1e9)
        _check_range("unavailable_for", unavailable_for, 0, 1e9)
        self._batch = batch
        self._answer_within = answer_within
        self._unavailable_for = unavailable_for
        self._tls = tls
        self._session = _core.ClientSession(
            self.spec.native, batch, stream_id or uuid.uuid4().hex
        )
        self._gathered = 0  # since the last answer
        self._incarnation = 0
        self._target = 0
        self._call: _Call | None = None
        self._pid: int | None = None  # of the process that connected

    # ------------------------------------------------------- as a Packer --

    def add(self, lengths: npt.ArrayLike) -> Packs:
        """Gives the next sequences; see `packhouse.Packer.add`.

        Once `batch` lengths are gathered it sends them and waits for the
        answer: packs come then.

        Raises:
            ValueError: The policies refuse a length. None is taken.
            Unavailable: No server answered.
            RuntimeError: The server refused, or the stream has ended; or it
                was used in another process, before a fork.
        """
        self._refuse_fork()
        array = as_lengths(lengths)
        self._session.add(array)
        self._gathered += len(array)
        if self._gathered >= self._batch:
            self._settle()
        return self._take()

    def flush(self) -> Packs:
        """Closes the window early, and waits for its packs."""
        self._refuse_fork()
        self._session.flush()
        self._settle()
        return self._take()

    def finish(self) -> Packs:
        """Ends the stream, and waits for its last packs."""
        self._refuse_fork()
        self._session.end()
        self._wait(lambda: self._session.ended)
        self.close()
        return self._take()

    @property
    def sequences(self) -> int:
        """Sequences given so far: the ordinal of the next."""
        return self._session.given_sequences

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on, at any server: values and bytes."""
        return {
            "version": _STATE_VERSION,
            "spec": self.spec.as_dict(),
            "session": self._session.save(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where the stream with this state was.

        Raises:
            ValueError: The state is of another spec (what differs is named),
                of a packer in process, of another version, or damaged.
        """
        check_state(state, _STATE_VERSION, self.spec)
        if "session" not in state:
            raise ValueError(
                "the state is of a packer in process, not of a stream of a "
                "server"
            )
        session = _core.ClientSession.restore(
            self.spec.native, self._batch, state["session"]
        )
        self.close()
        self._session = session
        self._gathered = 0

    def close(self) -> None:
        """Ends the connection. A stream that has not ended can go on."""
        if self._call is not None and self._pid == os.getpid():
            self._call.close()
        self._call = None

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Not close: a channel waits for threads, which are gone where the
        # interpreter ends. What is cancelled ends by itself.
        call: _Call | None = getattr(self, "_call", None)
        if call is None or sys.is_finalizing():
            return
        if self._pid == os.getpid():
            call.cancel()

    def __repr__(self) -> str:
        return (
            f"<Stream at {','.join(self.targets)}: {self.sequences} sequences "
            f"given, {self.spec!r}>"
        )

    # ---------------------------------------------------------- connections --

    def _take(self) -> Packs:
        return Packs(self.spec, *self._session.take())

    def _settle(self) -> None:
        self._session.push()
        self._wait(lambda: self._session.settled)
        self._gathered = 0

    def _refuse_fork(self) -> None:
        if self._pid is not None and self._pid != os.getpid():
            raise RuntimeError(
                f"this stream was used in process {self._pid}, before it "
                f"forked this one ({os.getpid()}): make a stream in each "
                "process, such as in the worker of a loader"
            )

    def _wait(self, done: Callable[[], bool]) -> None:
        """Sends and receives until `done`.

        Raises:
            Unavailable: No server answered for `unavailable_for` seconds.
        """
        since = heard = time.monotonic()
        pause = _FIRST_WAIT
        answered = self._session.answered_number
        while not done():
            if self._call is None:
                self._connect()
                heard = time.monotonic()
            self._send()
            if done():
                return
            failure = self._receive(heard + self._answer_within)
            now = time.monotonic()
            if failure is None:
                heard = now
                if self._session.answered_number != answered:
                    answered = self._session.answered_number
                    since, pause = now, _FIRST_WAIT
                self._leave_if_draining()
                continue
            self._lose()
            left = since + self._unavailable_for - now
            if left <= 0:
                raise self._nobody_answered(failure)
            time.sleep(min(left, random.uniform(0, pause)))
            pause = min(2 * pause, _LAST_WAIT)

    def _connect(self) -> None:
        _refuse_forked_grpc()
        self._pid = os.getpid()
        now = int(time.time() * 1e6)
        self._incarnation = max(self._incarnation + 1, now)
        self._session.connect(self._incarnation)
        self._call = _Call(self.targets[self._target], self._tls)

    def _lose(self) -> None:
        """Gives the connection up: the next target's turn comes."""
        self.close()
        self._target = (self._target + 1) % len(self.targets)

    def _leave_if_draining(self) -> None:
        if self._session.draining and len(self.targets) > 1:
            self._lose()

    def _send(self) -> None:
        from packhouse._messages import request_of  # noqa: PLC0415

        assert self._call is not None
        while (content := self._session.next_request()) is not None:
            self._call.send(request_of(content, self.spec))

    def _receive(self, until: float) -> BaseException | None:
        """Takes a response; what went wrong if there is none.

        Raises:
            RuntimeError, ValueError: What went wrong is final.
        """
        from packhouse._messages import receive  # noqa: PLC0415

        assert self._call is not None
        name = self.targets[self._target]
        try:
            response = self._call.responses.get(
                timeout=max(0.0, until - time.monotonic())
            )
        except queue.Empty:
            return DeadlineExceeded(
                f"{name}: no answer within {self._answer_within:g} s"
            )
        if isinstance(response, BaseException):
            return _failure(name, response)
        if response is None:
            self.close()
            raise RuntimeError(f"{name}: the stream was closed before its end")
        receive(self._session, response)
        return None

    def _nobody_answered(self, last: BaseException) -> Unavailable:
        kind = (
            DeadlineExceeded
            if isinstance(last, DeadlineExceeded)
            else Unavailable
        )
        return kind(
            f"{last} (no server answered for {self._unavailable_for:g} s; "
            f"tried: {', '.join(self.targets)})"
        )


_grpc_pid: int | None = None  # of the process that used gRPC first


def _refuse_forked_grpc() -> None:
    """A child of a process that has used gRPC may hang: now and then it does.

    Raises:
        RuntimeError: This is one.
    """
    global _grpc_pid  # noqa: PLW0603 - what a child inherits
    if _grpc_pid is None:
        _grpc_pid = os.getpid()
    if _grpc_pid != os.getpid():
        raise RuntimeError(
            f"gRPC was used in process {_grpc_pid} before it forked this one "
            f"({os.getpid()}), where it may hang: use streams in the workers "
            "only, or start these with multiprocessing_context='spawn'"
        )


class _Call:
    """One Pack call. Responses, then its error or None, come in a queue."""

    def __init__(self, target: str, tls: Tls | None) -> None:
        import grpc  # noqa: PLC0415

        from packhouse._messages import (  # noqa: PLC0415
            PACK_METHOD,
            PackRequest,
            PackResponse,
        )

        self.responses: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._channel = _channel(target, tls)
        method = self._channel.stream_stream(
            PACK_METHOD,
            request_serializer=PackRequest.SerializeToString,
            response_deserializer=PackResponse.FromString,
        )
        self._call = method(iter(self._requests.get, None))
        self._error: type[BaseException] = grpc.RpcError
        threading.Thread(
            target=self._read, name="packhouse-read", daemon=True
        ).start()

    def send(self, message: Any) -> None:
        self._requests.put(message)

    def cancel(self) -> None:
        self._requests.put(None)
        self._call.cancel()

    def close(self) -> None:
        self.cancel()
        self._channel.close()

    def _read(self) -> None:
        try:
            for response in self._call:
                self.responses.put(response)
            self.responses.put(None)
        except self._error as error:
            self.responses.put(error)


def _channel(target: str, tls: Tls | None) -> grpc.Channel:
    import grpc  # noqa: PLC0415

    options: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
        # Tries are this module's: the channel is not to hide a lost server.
        ("grpc.enable_retries", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    if target.startswith(("unix:", "localhost:", "127.", "[::1]")):
        options.append(("grpc.enable_http_proxy", 0))
    if tls is None:
        return grpc.insecure_channel(target, options)
    if tls.server_name is not None:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    credentials = grpc.ssl_channel_credentials(
        _read_file("ca_file", tls.ca_file),
        _read_file("key_file", tls.key_file),
        _read_file("cert_file", tls.cert_file),
    )
    return grpc.secure_channel(target, credentials, options)


def _read_file(name: str, path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ValueError(f"tls: {name} {path}: {error.strerror}") from None


def _failure(name: str, error: Any) -> BaseException:
    """An error that is worth another try.

    By codes and details, as docs/protocol.md says, never by texts.

    Raises:
        RuntimeError, ValueError: It is final.
    """
    code, text = error.code().name, f"{name}: {error.details()}"
    details = b""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            details = value
    broken = code in ("CANCELLED", "INTERNAL", "UNKNOWN") and not details
    full = code == "RESOURCE_EXHAUSTED" and b"google.rpc.RetryInfo" in details
    if code == "DEADLINE_EXCEEDED":
        return DeadlineExceeded(text)
    if code == "UNAVAILABLE" or broken or full:
        return Unavailable(text)
    if code == "INVALID_ARGUMENT":
        raise ValueError(text)
    raise RuntimeError(f"{text} ({code})")


def _targets_of(target: str) -> list[str]:
    targets = [name.strip() for name in target.split(",")]
    if len(targets) > _MAX_TARGETS:
        raise ValueError(
            f"there are {len(targets)} targets, at most {_MAX_TARGETS} are "
            "tried"
        )
    for name in targets:
        host, _, port = name.rpartition(":")
        is_address = host != "" and port.isdigit() and 0 < int(port) < 1 << 16
        if not (name.startswith("unix:") and len(name) > 5) and not is_address:
            raise ValueError(
                f"the target {name!r} is neither unix:PATH nor HOST:PORT"
            )
    return targets


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(
            f"{name} is {value}, it must be from {low:g} to {high:g}"
        )
