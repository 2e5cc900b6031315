"""A Python that starts at once: each run is a fork of one process, in which the large packages are imported already.

    python scripts/warm.py COMMAND ...

A start of Python costs seconds, nearly all of them for the imports of torch and the like, and ``make book`` and ``make
test`` start many. So `start` keeps a server, and a folder of commands (``python``, ``pytest``, ``pcgraph``) that hand
over what they were asked to run; COMMAND finds them on its PATH. Our own packages are imported anew in every run.
Without the server, as in a run of one test file, `python` is the usual one. It needs Linux.
"""

import atexit
import contextlib
import importlib
import json
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path

FOLDER = "WARM_COMMANDS"                                   # the variable that names the folder of commands
LARGE = ("torch", "torch._dynamo", "torchvision", "torchmetrics.image.fid", "torch_fidelity", "scipy.stats", "pandas",
         "seaborn", "pydantic", "typer", "rich.table", "papermill", "jupytext", "ipykernel.kernelapp", "IPython",
         "pytest", "snakemake.cli", "yaml", "bs4", "grimp", "PIL.Image", "filelock", "networkx")
ASK = """
import ctypes, json, os, signal, socket, sys, time
ctypes.CDLL(None).prctl(1, signal.SIGKILL)                 # ends with the process that started it
signal.signal(signal.SIGINT, signal.SIG_IGN)               # Ctrl-C reaches the fork as well, which ends in its own way
_, address, *arguments = sys.argv
server, until = socket.socket(socket.AF_UNIX), time.monotonic() + 60
while not os.path.exists(address) and time.monotonic() < until:
    time.sleep(0.1)                                        # it is importing
try:
    server.connect(address)
except OSError:
    os.execv(sys.executable, [sys.executable, *arguments])
request = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(request).to_bytes(8, "big")], [0, 1, 2])
server.sendall(request)
code = server.recv(1)
sys.exit(code[0] if code else 1)
"""
SERVE = "--serve"
COMMANDS = {"python": "", "pytest": "-m pytest ", "pcgraph": "-m reproduction "}


def python() -> str:
    """The Python for programs that tests start, unless they look at memory, imports or signals of its process."""
    return str(commands() / "python")


def commands() -> Path:
    """The folder of its commands, for the PATH."""
    return Path(os.environ.get(FOLDER) or Path(sys.executable).parent)


def start() -> None:
    """Start the server, which ends with this process."""
    kept = tempfile.TemporaryDirectory(prefix="warm")
    folder, usual = Path(kept.name), shlex.quote(sys.executable)
    (folder / "ask.py").write_text(ASK)
    for name, arguments in COMMANDS.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {usual} -SE {folder}/ask.py {folder}/server {arguments}"$@"\n')
        (folder / name).chmod(0o755)
    (folder / "kernels/python3").mkdir(parents=True)
    (folder / "kernels/python3/kernel.json").write_text(json.dumps({
        "display_name": "Python 3", "language": "python",
        "argv": [f"{folder}/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]}))
    server = subprocess.Popen([sys.executable, __file__, SERVE, f"{folder}/server"], stdin=subprocess.PIPE,
                              env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"})
    atexit.register(kept.cleanup)
    atexit.register(server.stdin.close)
    os.environ |= {FOLDER: str(folder), "JUPYTER_PATH": str(folder)}


def serve(address: str) -> None:
    """Fork for every request, until the process that started this one is gone."""
    for name in LARGE:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)          # nobody waits for the forks
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    while listening in select.select([listening, sys.stdin], [], [])[0]:
        asking, _ = listening.accept()
        if not os.fork():
            listening.close()
            _answer(asking)
        asking.close()


def _answer(asking: socket.socket) -> None:
    """Run what is asked for with the streams of who asks, who is told the exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    size, streams, _, _ = socket.recv_fds(asking, 8, 3)
    with asking.makefile("rb") as file:
        arguments, folder, environment = json.loads(file.read(int.from_bytes(size, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=lambda: (asking.recv(1), os._exit(1)), daemon=True).start()         # it was killed
    code = run(arguments)
    atexit._run_exitfuncs()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        asking.sendall(bytes([code % 256]))
    os._exit(code)


def run(arguments: Sequence[str]) -> int:
    """As ``python ARGUMENTS`` does: a module, a line of code or a file. Its exit code."""
    streams = ((0, "r", -1), (1, "w", -1), (2, "w", 1))    # errors line by line
    sys.stdin, sys.stdout, sys.stderr = (open(k, mode, size, closefd=False) for k, mode, size in streams)  # noqa: SIM115
    sys.executable = python()
    first, *rest = arguments
    path = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:1] = [str(Path(first).resolve().parent) if first[0] != "-" else os.getcwd(), *path]
    if "ipykernel_launcher" in arguments:
        rest.append(f"--IPKernelApp.parent_handle={os.getppid()}")
        os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    if "MPLBACKEND" in os.environ:                         # read when matplotlib is imported, which it was before
        sys.modules["matplotlib"].rcParams["backend"] = os.environ["MPLBACKEND"]
    try:
        if first == "-m":
            sys.argv = rest
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        elif first == "-c":
            sys.argv = ["-c", *rest[1:]]
            exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = [first, *rest]
            runpy.run_path(first, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1] == SERVE:
        serve(sys.argv[2])
    else:
        start()
        os.environ["PATH"] = f"{commands()}{os.pathsep}{os.environ['PATH']}"
        signal.signal(signal.SIGINT, lambda *_: None)      # Ctrl-C reaches COMMAND, whose end is waited for
        sys.exit(subprocess.call(sys.argv[1:]))
