"""Where the peers come from: pinned versions, and how each gets into build/peers/.

Nothing is installed into the system: packages of Debian are unpacked there, modules of Go,
crates and npm packages are fetched by their own tools and built there.  What is installed
already (a redis-server on the PATH) is used as it is.  A peer that cannot be had raises
Missing with the command and the first line of its complaint.
"""
import glob, hashlib, os, shutil, subprocess

VERSIONS = {
    # npm
    "@restatedev/restate-server": "1.7.12",
    "@restatedev/restate-sdk": "1.17.2",
    "@dbos-inc/dbos-sdk": "5.3.0",
    # Go modules
    "github.com/temporalio/cli": "v1.5.1",
    "go.temporal.io/sdk": "v1.50.0",
    "github.com/cschleiden/go-workflows": "v1.4.0",
    "github.com/microsoft/durabletask-go": "v0.6.0",
    "github.com/nats-io/nats-server/v2": "v2.15.2",
    "github.com/nats-io/nats.go": "v1.55.0",
    "github.com/rabbitmq/amqp091-go": "v1.16.0",
    # crates
    "duroxide": "0.1.32",
    "tokio": "1",
    # Debian's own, whatever this release has: redis-server, postgresql-15, rabbitmq-server, beanstalkd
}
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(os.environ.get("B", os.path.join(ROOT, "build")))
CACHE = os.path.join(BUILD, "peers")


class Missing(Exception):
    """A peer that cannot be had here, and why."""


def run(command, **more):
    """A command that must work; its output."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)
    except OSError as e:
        raise Missing(f"{command[0]}: {e.strerror}")
    if done.returncode:
        said = [line.strip() for line in (done.stderr + "\n" + done.stdout).split("\n") if line.strip()]
        why = next((line for line in said if "error" in line.lower() or "E:" in line), said[-1] if said else "failed")
        raise Missing(f"`{' '.join(os.path.basename(word) if '/' in word and os.path.exists(word) else word for word in command[:6])}`: {why[:160]}")
    return done.stdout


def nice(*command):
    return ["nice", "-n", "5", *command]


def sources(*names):
    return [os.path.join(HERE, name) for name in names]


def fresh(dir, files, *words):
    """Is what lies in `dir` made of these files and words?  If not, make it anew."""
    mark = hashlib.sha256("\n".join(words).encode())
    for file in files:
        mark.update(open(file, "rb").read())
    stamp = os.path.join(dir, ".made-of")
    if os.path.exists(stamp) and open(stamp).read() == mark.hexdigest():
        return True, lambda: None
    for name in os.listdir(dir) if os.path.isdir(dir) else []:
        if name not in ("target", "node_modules"):  # dependencies that were built stay so
            path = os.path.join(dir, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    os.makedirs(dir, exist_ok=True)
    return False, lambda: open(stamp, "w").write(mark.hexdigest())


# ---- Tools of the languages ----------------------------------------------------------------


def go_program(name, *modules):
    """bench/peers/NAME/main.go with these modules."""
    dir, files = os.path.join(CACHE, name), sources(f"{name}/main.go", "load/load.go")
    pins = [f"{m}@{VERSIONS[m]}" for m in modules]
    done, mark = fresh(dir, files, *pins)
    if not done:
        os.makedirs(os.path.join(dir, "load"))
        shutil.copy(files[0], dir)
        shutil.copy(files[1], os.path.join(dir, "load"))
        run(["go", "mod", "init", "bench"], cwd=dir)
        run(nice("go", "get", *pins), cwd=dir)
        run(nice("go", "mod", "tidy"), cwd=dir)
        run(nice("go", "build", "-p", "2", "-o", "harness", "."), cwd=dir)
        mark()
    return os.path.join(dir, "harness")


def go_tool(module, package, program):
    dir = os.path.join(CACHE, "server-" + program)
    done, mark = fresh(dir, [], module, VERSIONS[module])
    if not done:
        run(nice("go", "install", "-p", "2", f"{module}{package}@{VERSIONS[module]}"), env={**os.environ, "GOBIN": dir})
        mark()
    return os.path.join(dir, program)


def npm_packages(name, *packages):
    dir, files = os.path.join(CACHE, name), sources(f"{name}/main.mjs", "load.mjs")
    pins = [f"{p}@{VERSIONS[p]}" for p in packages]
    done, mark = fresh(dir, files, *pins)
    if not done:
        open(os.path.join(dir, "package.json"), "w").write('{"private":true,"type":"module"}\n')
        for file in files:
            shutil.copy(file, dir)
        run(nice("npm", "install", "--no-audit", "--no-fund", *pins), cwd=dir)
        mark()
    return os.path.join(dir, "main.mjs")


def cargo_program(name, *crates):
    dir, files = os.path.join(CACHE, name), sources(f"{name}/main.rs")
    done, mark = fresh(dir, files, *(f"{c} {VERSIONS[c.split()[0]]}" for c in crates))
    if not done:
        os.makedirs(os.path.join(dir, "src"))
        shutil.copy(files[0], os.path.join(dir, "src"))
        run(["cargo", "init", "-q", "--bin", "--vcs", "none", "--name", "harness", "."], cwd=dir)
        shutil.copy(files[0], os.path.join(dir, "src"))
        for crate in crates:
            crate, *features = crate.split()
            run(["cargo", "add", "-q", f"{crate}@{VERSIONS[crate]}", *(f"--features={f}" for f in features)], cwd=dir)
        run(nice("cargo", "build", "-q", "--release", "-j", "2"), cwd=dir)
        mark()
    return os.path.join(dir, "target", "release", "harness")


def c_program(name, *libs, alone=False):
    """bench/peers/NAME/main.c; not `alone`: with phases.c and the loop of `pawl bench`."""
    out = os.path.join(CACHE, name)
    os.makedirs(out, exist_ok=True)
    files = sources(f"{name}/main.c") + ([] if alone else sources("phases.c") + [os.path.join(BUILD, "obj", "libpawl-all.a")])
    run(["cc", "-O2", "-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}/include", f"-I{ROOT}/src", *files, *libs, "-lsqlite3",
         "-pthread", "-lm", "-ldl", "-o", os.path.join(out, "harness")])
    return os.path.join(out, "harness")


# ---- Debian --------------------------------------------------------------------------------


def find_libraries(root):
    """What was unpacked is found by the loader, behind what is installed: only what is not lies there."""
    places = glob.glob(os.path.join(os.path.abspath(root), "usr/lib/*-linux-gnu"))
    known = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    os.environ["LD_LIBRARY_PATH"] = ":".join([p for p in known if p] + [p for p in places if p not in known])


def debian(package, program):
    """A program of a package: the installed one, or unpacked into the cache with all it needs."""
    root = os.path.join(CACHE, "debian")
    for place in ("", root):
        for found in sorted(glob.glob(place + program), reverse=True):
            find_libraries(root)
            return found
    needs = [line.split()[1] for line in run(["apt-get", "install", "-s", "--no-install-recommends", package]).split("\n")
             if line.startswith("Inst ")]
    files = os.path.join(CACHE, "debs", package)
    os.makedirs(files, exist_ok=True)
    run(["apt-get", "download", *(needs or [package])], cwd=files)
    for deb in glob.glob(os.path.join(files, "*.deb")):
        run(["dpkg", "-x", deb, root])
    found = sorted(glob.glob(root + program), reverse=True)
    if not found:
        raise Missing(f"the package {package} has no {program}")
    find_libraries(root)
    return found[0]
