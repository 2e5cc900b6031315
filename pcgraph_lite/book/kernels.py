"""The kernel of a page as a copy of the process that checked the call: torch, which takes seconds, is imported once.

The copy is made before anything ran here, one for each page, so no page can depend on another.
"""

import os
from collections.abc import Sequence
from multiprocessing import Pipe
from multiprocessing.context import ForkProcess
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner


class Copy(ForkProcess):
    """Waits for the command line of a kernel, and becomes it. To its manager it looks like a ``subprocess.Popen``."""

    stdin = stdout = stderr = None

    def __init__(self) -> None:
        super().__init__(daemon=True)                                      # ends with the process that it copies
        self.heard, self.told = Pipe(duplex=False)

    def run(self) -> None:
        """In the copy."""
        self.told.close()
        command, environment = self.heard.recv()
        os.setsid()
        os.environ.clear()
        os.environ.update(environment, JPY_PARENT_PID=str(os.getppid()))
        from ipykernel.kernelapp import launch_new_instance
        launch_new_instance(command[command.index("ipykernel_launcher") + 1:])

    def poll(self) -> int | None:
        """The exit status, None while it runs."""
        return self.exitcode

    def wait(self) -> int | None:
        """The exit status."""
        self.join()
        return self.exitcode

    def send_signal(self, signal: int) -> None:
        """As ``kill`` of a shell."""
        os.kill(self.pid, signal)


class _Provisioner(LocalProvisioner):
    """Starts a kernel in a copy instead of a new process."""

    copy: Copy

    async def launch_kernel(self, cmd: Sequence[str], **more: Any) -> dict[str, Any]:
        self.copy.told.send((cmd, more["env"]))
        self.process, self.pid = self.copy, self.copy.pid
        return self.connection_info


def manager(copy: Copy) -> type[AsyncKernelManager]:
    """The class of a kernel manager, as nbclient wants it, whose kernel is that copy."""

    class Manager(AsyncKernelManager):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.provisioner = _Provisioner(kernel_spec=self.kernel_spec, parent=self)
            self.provisioner.copy = copy

    return Manager
