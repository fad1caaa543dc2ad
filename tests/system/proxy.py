"""A relay between a client and a server on Unix sockets that can stand still.

It makes "in the middle of a stream" a place that a test can go to: the relay
passes bytes both ways until the client has sent `hold_after` of them, and then
passes nothing more to the server.
"""

import socket
import threading


class Proxy:

    def __init__(self, path, server_path, hold_after, answers=1):
        """Listens on `path`. held is set when `hold_after` bytes have gone to
        the server and at least `answers` bytes have come back."""
        self.held = threading.Event()
        self._hold_after = hold_after
        self._answers = answers
        self._sent = 0
        self._received = 0
        self._server_path = str(server_path)
        self._lock = threading.Lock()
        self._sockets = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._server_path)
            except OSError:  # the server is gone, so this client is refused
                client.close()
                continue
            self._sockets += [client, server]
            for relay, source, sink in (
                (self._to_server, client, server),
                (self._to_client, server, client)):
                threading.Thread(target=relay, args=(source, sink),
                                 daemon=True).start()

    def _to_server(self, client, server):
        while self._sent < self._hold_after:
            data = self._receive(client)
            if not data:
                return self._end(server)
            server.sendall(data)
            self._count(sent=len(data))

    def _to_client(self, server, client):
        while data := self._receive(server):
            try:
                client.sendall(data)
            except OSError:
                return
            self._count(received=len(data))
        self._end(client)

    def _count(self, sent=0, received=0):
        with self._lock:
            self._sent += sent
            self._received += received
            if (self._sent >= self._hold_after
                    and self._received >= self._answers):
                self.held.set()

    @staticmethod
    def _receive(source):
        try:
            return source.recv(4096)
        except OSError:  # reset, or closed by close()
            return b""

    @staticmethod
    def _end(sink):
        try:
            sink.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self):
        for each in [self._listener, *self._sockets]:
            self._end(each)
            each.close()
