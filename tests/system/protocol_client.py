"""A complete client of a Pack stream that survives the loss of its server,
written from docs/protocol.md alone: no code of the project is used.

`load_messages` compiles the contract with protoc; a project of its own would
do that when it is built.
"""

import collections
import importlib
import pathlib
import queue
import subprocess
import sys
import time

import grpc

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTO = "packhouse/v1/packhouse.proto"
METHOD = "/packhouse.v1.PackerService/Pack"
MAX_MESSAGE_BYTES = 16 << 20
RETRIED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED,
           grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL,
           grpc.StatusCode.UNKNOWN)


def load_messages(folder):
    """The generated messages of the contract, as a module."""
    subprocess.run(["protoc", f"-I{ROOT}/proto", f"--python_out={folder}",
                    PROTO], check=True)
    sys.path.insert(0, str(folder))
    return importlib.import_module("packhouse.v1.packhouse_pb2")


class ProtocolClient:
    """Sends the inputs of one stream and gathers its packs."""

    def __init__(self, messages, target, spec, inputs, stream_id):
        """`inputs` are lists of lengths, and None for a flush."""
        self._pb = messages
        self._target = target
        self._spec = spec
        self._stream_id = stream_id
        self._incarnation = 0
        # What survives: the snapshot, the inputs after it, the packs.
        self._state = b""
        self._covered = 0
        self._covered_sequences = 0
        self._inputs = collections.deque([*inputs, "end"])
        self.packs = []
        self.ended = None
        self.connections = 0

    def run(self, limit_s):
        """Until the stream has ended, on as many connections as it takes."""
        deadline = time.monotonic() + limit_s
        while self.ended is None:
            try:
                self._run_connection(max(0.0, deadline - time.monotonic()))
            except grpc.RpcError as error:
                if error.code() not in RETRIED or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)  # before the next attempt
        return self.packs

    def _run_connection(self, limit_s):
        self.connections += 1
        self._incarnation = max(self._incarnation + 1,
                                time.time_ns() // 1000)
        options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                   ("grpc.enable_http_proxy", 0),
                   ("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(self._target, options) as channel:
            call = channel.stream_stream(
                METHOD, self._pb.PackRequest.SerializeToString,
                self._pb.PackResponse.FromString)
            requests = queue.SimpleQueue()  # None ends it
            responses = call(iter(requests.get, None), timeout=limit_s)
            try:
                self._talk(requests, responses)
            finally:
                responses.cancel()
                requests.put(None)

    def _talk(self, requests, responses):
        requests.put(self._open())
        sent = self._covered
        sent_sequences = None  # until `opened` says what the server has
        for response in responses:
            self._receive(response)
            if not response.HasField("credit"):
                continue
            credit = response.credit
            if sent_sequences is None:
                sent_sequences = self._covered_sequences
            while sent < self._last_number and sent < credit.max_number:
                content = self._inputs[sent - self._covered]
                size = len(content) if isinstance(content, list) else 0
                if sent_sequences + size > credit.max_sequences:
                    break
                sent += 1
                sent_sequences += size
                requests.put(self._request(sent, content))

    @property
    def _last_number(self):
        return self._covered + len(self._inputs)

    def _open(self):
        request = self._pb.PackRequest()
        request.open.protocol_version = 1
        request.open.spec.CopyFrom(self._spec)
        request.open.stream_id = self._stream_id
        request.open.incarnation = self._incarnation
        request.open.resume.state = self._state
        request.open.resume.received_packs = len(self.packs)
        return request

    def _request(self, number, content):
        request = self._pb.PackRequest()
        if content == "end":
            request.end.number = number
        elif content is None:
            request.flush.number = number
        else:
            request.batch.number = number
            request.batch.lengths.extend(content)
        return request

    def _receive(self, response):
        event = response.WhichOneof("event")
        if event == "packs":
            packs = response.packs
            assert packs.first_number == len(self.packs) + 1
            begin = 0
            for size in packs.sizes:
                self.packs.append([packs.base_ordinal + ordinal for ordinal
                                   in packs.ordinals[begin:begin + size]])
                begin += size
        elif event == "snapshot":
            snapshot = response.snapshot
            assert snapshot.packs == len(self.packs)
            for _ in range(snapshot.received_number - self._covered):
                self._inputs.popleft()
            self._state = snapshot.state
            self._covered = snapshot.received_number
            self._covered_sequences = snapshot.sequences
        elif event == "refused":
            raise ValueError(response.refused.message)
        elif event == "ended":
            assert response.ended.packs == len(self.packs)
            self.ended = response.ended
