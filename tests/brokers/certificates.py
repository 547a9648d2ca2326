"""Certificates for a broker and its clients, made on the fly by openssl."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Certificates", "make_certificates"]

KEY_PASSWORD = "key-secret"


@dataclass(frozen=True)
class Certificates:
    """PEM files of one authority.

    Attributes
    ----------
    ca_file : the authority, which broker and clients trust
    broker_file : certificate and key of "localhost"
    cert_file, key_file : of the client "alice"; the key is locked with `key_password`
    stranger_file : another authority, which signed nothing here
    """

    ca_file: Path
    broker_file: Path
    cert_file: Path
    key_file: Path
    stranger_file: Path
    key_password: str = KEY_PASSWORD


def make_certificates(folder: Path) -> Certificates:
    """Make them in a folder.

    Raises
    ------
    FileNotFoundError
        There is no openssl on the PATH.
    """
    if shutil.which("openssl") is None:
        raise FileNotFoundError("there is no openssl on the PATH")
    folder.mkdir(parents=True)
    for authority in ("ca", "stranger"):
        _authority(folder, authority)
    _signed(folder, "broker", "localhost")
    _signed(folder, "alice", "alice")
    both = (folder / "broker.pem").read_text() + (folder / "broker.key").read_text()
    (folder / "broker-all.pem").write_text(both)
    locked = folder / "alice-locked.key"
    _openssl("pkcs8", "-topk8", "-in", folder / "alice.key", "-out", locked, *_LOCK)
    return Certificates(
        ca_file=folder / "ca.pem",
        broker_file=folder / "broker-all.pem",
        cert_file=folder / "alice.pem",
        key_file=locked,
        stranger_file=folder / "stranger.pem",
    )


_LOCK = ("-passout", f"pass:{KEY_PASSWORD}")
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def _authority(folder: Path, name: str) -> None:
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    subject = ("-subj", f"/CN={name}", "-days", "30")
    _openssl("req", "-x509", *_KEY, "-keyout", key, "-out", cert, *subject)


def _signed(folder: Path, name: str, subject: str) -> None:
    key, wish, cert = (folder / f"{name}{end}" for end in (".key", ".csr", ".pem"))
    _openssl("req", "-new", *_KEY, "-keyout", key, "-out", wish, "-subj", f"/CN={subject}")
    names = folder / f"{name}.ext"
    names.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    authority = ("-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial")
    _openssl(
        "x509", "-req", "-in", wish, *authority, "-out", cert, "-days", "30", "-extfile", names
    )


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(
        ["openssl", *map(str, arguments)], check=True, capture_output=True, stdin=subprocess.DEVNULL
    )
