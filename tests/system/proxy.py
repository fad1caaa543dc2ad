"""Relays between clients and a server on Unix sockets, for tests that go where
real networks go."""

import socket
import threading


class Relay:
    """Accepts clients and connects each to the server. What passes between the
    two is for the subclass: it gives a function for each of the threads that a
    pair needs."""

    def __init__(self, path, server_path):
        """Listens on `path`."""
        self._server_path = str(server_path)
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
            for work, *arguments in self._works(client, server):
                threading.Thread(target=work, args=arguments,
                                 daemon=True).start()

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


class Proxy(Relay):
    """Makes "in the middle of a stream" a place that a test can go to: passes
    bytes both ways until the client has sent `hold_after` of them, and then
    nothing more to the server."""

    def __init__(self, path, server_path, hold_after, answers=1):
        """held is set when `hold_after` bytes have gone to the server and at
        least `answers` bytes have come back."""
        self.held = threading.Event()
        self._hold_after = hold_after
        self._answers = answers
        self._sent = 0
        self._received = 0
        self._lock = threading.Lock()
        super().__init__(path, server_path)

    def _works(self, client, server):
        return ((self._to_server, client, server),
                (self._to_client, server, client))

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


class CuttingProxy(Relay):
    """Cuts each of its connections behind some random byte, of either
    direction. The bytes up to there arrive; those behind it are lost. So a
    message, a frame, the opening of a connection is cut at any place."""

    def __init__(self, path, server_path, choose, most_bytes):
        """`choose`, a random.Random, draws where each connection is cut: behind
        `most_bytes` at most, every third time behind far fewer."""
        self.cuts = 0
        self._choose = choose
        self._most_bytes = most_bytes
        super().__init__(path, server_path)

    def _works(self, client, server):
        # One direction has a limit; the other ends with it.
        limits = [self._draw(), None]
        self._choose.shuffle(limits)
        return ((self._pass, client, server, limits[0]),
                (self._pass, server, client, limits[1]))

    def _draw(self):
        if self._choose.randrange(3) > 0:
            return self._choose.randint(1, self._most_bytes)
        # Each power of two is as likely: openings are cut too.
        return 2**self._choose.randrange(self._most_bytes.bit_length())

    def _pass(self, source, sink, left):
        try:
            while left is None or left > 0:
                data = source.recv(4096 if left is None else min(4096, left))
                if not data:
                    break
                sink.sendall(data)
                if left is not None:
                    left -= len(data)
        except OSError:  # ended by the other direction
            pass
        if left == 0:
            self.cuts += 1
        self._end(source)
        self._end(sink)
