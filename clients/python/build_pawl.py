# SPDX-License-Identifier: MIT
"""The build backend (PEP 517, PEP 660): a wheel of the package as it lies here.

A wheel is a zip file with the modules and three small texts.  Writing it takes fewer lines than a
dependency on a build tool costs, and an install needs no network.  Name, version and so on are read from
pyproject.toml, where pip and people look for them.
"""
import base64
import hashlib
import io
import pathlib
import re
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
TAG = "py3-none-any"


def _project():
    """The plain texts of [project]; tomllib is younger than the oldest Python we serve."""
    text = (HERE / "pyproject.toml").read_text(encoding="utf-8").partition("[project]")[2]
    return dict(re.findall(r'^([\w-]+) = "([^"]*)"$', text, re.M))


def _metadata():
    p = _project()
    head = ["Metadata-Version: 2.1", "Name: " + p["name"], "Version: " + p["version"], "Summary: " + p["description"],
            "License: " + p["license"], "Requires-Python: " + p["requires-python"],
            "Description-Content-Type: text/markdown"]
    return "\n".join(head) + "\n\n" + (HERE / p["readme"]).read_text(encoding="utf-8")


def _modules():
    return [(p.relative_to(HERE).as_posix(), p.read_bytes()) for p in sorted((HERE / "pawl").rglob("*"))
            if p.suffix in (".py", ".pyi") or p.name == "py.typed"]


def _wheel(directory, files):
    p = _project()
    stem = "%s-%s" % (p["name"], p["version"])
    info, name = stem + ".dist-info", "%s-%s.whl" % (stem, TAG)
    files = files + [(info + "/METADATA", _metadata().encode()),
                     (info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: build_pawl\nRoot-Is-Purelib: true\nTag: %s\n" % TAG).encode())]
    lines = ["%s,sha256=%s,%d" % (path, base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
             for path, data in files] + [info + "/RECORD,,"]
    files.append((info + "/RECORD", ("\n".join(lines) + "\n").encode()))
    with zipfile.ZipFile(pathlib.Path(directory) / name, "w", zipfile.ZIP_DEFLATED) as whole:
        for path, data in files:
            whole.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), data)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _wheel(wheel_directory, _modules())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _wheel(wheel_directory, [("pawl-editable.pth", (str(HERE) + "\n").encode())])


def build_sdist(sdist_directory, config_settings=None):
    p = _project()
    stem = "%s-%s" % (p["name"], p["version"])
    files = _modules() + [(n, (HERE / n).read_bytes()) for n in ("pyproject.toml", "build_pawl.py", p["readme"])]
    files.append(("PKG-INFO", _metadata().encode()))
    with tarfile.open(pathlib.Path(sdist_directory) / (stem + ".tar.gz"), "w:gz") as whole:
        for path, data in files:
            entry = tarfile.TarInfo("%s/%s" % (stem, path))
            entry.size = len(data)
            whole.addfile(entry, io.BytesIO(data))
    return stem + ".tar.gz"
