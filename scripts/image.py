#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""image.py ARCHITECTURE VERSION SECONDS FILE: writes a container image, as `docker load` reads it.

Inside are the two static programs of build/static-ARCHITECTURE, the authorities of Debian's ca-certificates, a user,
and the licences: no shell, and nothing of the machine that this runs on. The same programs give the same bytes: SECONDS,
the time of the commit, is that of all files.
"""

import glob
import hashlib
import io
import json
import os
import sys
import tarfile
import time

USER = 65532
BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build")
PACKAGING = os.path.join(BUILD, "..", "packaging", "image")
SECOND = 1_000_000_000

architecture, version, seconds, output = sys.argv[1:]
programs = os.path.join(BUILD, "static-" + architecture)
sysroot = os.path.join(BUILD, "sysroot", architecture)


def read(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def add(tar, name, content=None, mode=None, owner=0):
    """A file, or a directory where there is no content."""
    entry = tarfile.TarInfo(name)
    entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
    entry.size = 0 if content is None else len(content)
    entry.mode = mode or (0o755 if content is None else 0o644)
    entry.uid = entry.gid = owner
    entry.mtime = int(seconds)
    tar.addfile(entry, io.BytesIO(content or b""))


def licences():
    yield b"redlock\n=======\n\n" + read(BUILD, "..", "LICENSE")
    for package in ("libc6-dev", "libssl-dev", "ca-certificates"):
        title = package.encode() + b"\n" + b"=" * len(package) + b"\n\n"
        yield title + read(sysroot, "usr/share/doc", package, "copyright")


def layer():
    # As update-ca-certificates makes it, and as Debian ships it: no authority that this machine's owner has added.
    authorities = sorted(glob.glob(os.path.join(sysroot, "usr/share/ca-certificates/mozilla/*.crt")))
    bytes_ = io.BytesIO()
    with tarfile.open(fileobj=bytes_, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for directory in ("etc", "etc/redlock", "etc/ssl", "etc/ssl/certs", "run", "usr", "usr/bin", "usr/share",
                          "usr/share/doc", "usr/share/doc/redlock"):
            add(tar, directory)
        # A volume takes its owner over.
        add(tar, "run/redlock", owner=USER)
        for name in ("passwd", "group"):
            add(tar, "etc/" + name, read(PACKAGING, name))
        add(tar, "etc/redlock/redlockd.conf", read(PACKAGING, "redlockd.conf"))
        add(tar, "etc/ssl/certs/ca-certificates.crt", b"".join(read(path) for path in authorities))
        for name in ("redlock", "redlockd"):
            add(tar, "usr/bin/" + name, read(programs, name), mode=0o755)
        add(tar, "usr/share/doc/redlock/copyright", b"\n\n".join(licences()))
    return bytes_.getvalue()


def config(diff_id):
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds)))
    return json.dumps({
        "architecture": architecture,
        "os": "linux",
        "created": created,
        "config": {
            "User": f"{USER}:{USER}",
            "Env": ["PATH=/usr/bin"],
            "Entrypoint": ["/usr/bin/redlockd"],
            "Cmd": ["--config", "/etc/redlock/redlockd.conf"],
            "WorkingDir": "/",
            "StopSignal": "SIGTERM",
            # Writable, also where the rest is read-only.
            "Volumes": {"/run/redlock": {}},
            # A node that is new may vote after its quarantine only.
            "Healthcheck": {"Test": ["CMD", "/usr/bin/redlockd", "--ready"], "Interval": 5 * SECOND,
                            "Timeout": 6 * SECOND, "StartPeriod": 60 * SECOND, "Retries": 3},
            "Labels": {"org.opencontainers.image.title": "redlock",
                       "org.opencontainers.image.version": version,
                       "org.opencontainers.image.licenses": "BSD-2-Clause",
                       "org.opencontainers.image.description":
                           "redlockd, a lock service over Redis or Valkey masters, and redlock, its command"},
        },
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        "history": [{"created": created, "created_by": "scripts/image.py"}],
    }, sort_keys=True).encode()


files = layer()
digest = hashlib.sha256(files).hexdigest()
settings = config("sha256:" + digest)
settings_name = hashlib.sha256(settings).hexdigest() + ".json"
manifest = [{"Config": settings_name, "RepoTags": [f"redlock:{version}", "redlock:latest"],
             "Layers": [digest + "/layer.tar"]}]
with tarfile.open(output, mode="w", format=tarfile.USTAR_FORMAT) as archive:
    add(archive, digest + "/layer.tar", files)
    add(archive, settings_name, settings)
    add(archive, "manifest.json", json.dumps(manifest).encode())
