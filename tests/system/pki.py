"""Certificates for tests, made by the openssl program in a folder."""

import subprocess


class Pki:
    """An authority, ca.pem, and what it signs: NAME.pem with NAME.key."""

    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.run("req", "-x509", "-nodes", *self._key("ca"), "-out",
                 self.file("ca.pem"), "-days", 2, "-subj", "/CN=authority")

    def issue(self, name, common_name, alternative_names=None):
        """`alternative_names` as openssl takes them: DNS:a,URI:b."""
        extension = (["-addext", f"subjectAltName={alternative_names}"]
                     if alternative_names else [])
        self.run("req", "-nodes", *self._key(name), "-out",
                 self.file("request"), "-subj", f"/CN={common_name}",
                 *extension)
        self.run("x509", "-req", "-in", self.file("request"), "-CA",
                 self.file("ca.pem"), "-CAkey", self.file("ca.key"), "-days", 2,
                 "-copy_extensions", "copy", "-out", self.file(f"{name}.pem"))

    def file(self, name):
        return self.folder / name

    def identity(self, name):
        """The options that show this identity, of both programs."""
        return ["--tls-cert", self.file(f"{name}.pem"),
                "--tls-key", self.file(f"{name}.key")]

    def run(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True,
                       capture_output=True, timeout=60)

    def _key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-keyout", self.file(f"{name}.key")]
