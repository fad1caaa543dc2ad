"""A relay between clients and a server on Unix sockets that cuts each of its
connections behind some random byte, of either direction.

The bytes up to there arrive; those behind it are lost. So a message, a frame,
the opening of a connection is cut at any place.
"""

import socket
import threading


class CuttingProxy:

    def __init__(self, path, server_path, choose, most_bytes):
        """Listens on `path`. `choose`, a random.Random, draws where each
        connection is cut: behind `most_bytes` at most, every third time behind
        far fewer."""
        self.cuts = 0
        self._choose = choose
        self._most_bytes = most_bytes
        self._server_path = str(server_path)
        self._pairs = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _draw(self):
        if self._choose.randrange(3) > 0:
            return self._choose.randint(1, self._most_bytes)
        # Each power of two is as likely: openings are cut too.
        return 2**self._choose.randrange(self._most_bytes.bit_length())

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server_path)
            pair = (client, server)
            self._pairs.append(pair)
            # One direction has a limit; the other ends with it.
            limits = [self._draw(), None]
            self._choose.shuffle(limits)
            for source, sink, limit in ((client, server, limits[0]),
                                        (server, client, limits[1])):
                threading.Thread(target=self._relay,
                                 args=(pair, source, sink, limit),
                                 daemon=True).start()

    def _relay(self, pair, source, sink, left):
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
        self._end(pair)

    @staticmethod
    def _end(sockets):
        for each in sockets:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self._end([self._listener])
        self._listener.close()
        for pair in self._pairs:
            self._end(pair)
            for each in pair:
                each.close()
