"""Snakemake's progress as one line: jobs done, time left, what runs now. `--logger line` finds it by its name.

Warnings and errors are printed above the line, a failed job with the end of its log.
"""

import re
import sys
from logging import WARNING, LogRecord
from pathlib import Path

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

SHOWN = (LogEvent.ERROR, LogEvent.GROUP_ERROR)
TAIL = 20                                                                 # lines of a failed job's log


class LogHandler(LogHandlerBase):
    """One line on a terminal; elsewhere a line whenever something ends."""

    def __post_init__(self) -> None:
        self.bar: tqdm | None = None
        self.running: dict[int, str] = {}                                  # job -> its rule's message

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = False
    needs_rulegraph = False

    def emit(self, record: LogRecord) -> None:
        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO and record.stats.get("total"):
            self._start(record.stats["total"])
        elif event == LogEvent.JOB_INFO:
            self.running[record.jobid] = record.rule_msg or record.rule_name
            self._show()
        elif event == LogEvent.JOB_FINISHED:
            self.running.pop(record.job_id, None)
            self._show(done=1)
        elif event == LogEvent.JOB_ERROR:
            name, why = self.running.pop(record.jobid, record.rule_name), record.rule_msg or ""      # why: on a cluster
            self._print(f"failed: {name}\n{why}\n{_tail(record.log)}")
        elif event in SHOWN or (event is None and record.levelno >= WARNING):
            self._print(self.format(record))

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None
        super().close()

    def _start(self, total: int) -> None:
        shape = "{n_fmt} of {total_fmt} jobs, {elapsed} so far, about {remaining} left; now: {desc}"
        self.bar = self.bar or tqdm(total=total, bar_format=shape, smoothing=0, file=sys.stderr, dynamic_ncols=True,
                                    mininterval=0 if sys.stderr.isatty() else 10)

    def _show(self, done: int = 0) -> None:
        if self.bar is not None:
            self.bar.set_description_str(", ".join(self.running.values()), refresh=False)
            self.bar.update(done)
            if sys.stderr.isatty():
                self.bar.refresh()

    def _print(self, text: str) -> None:
        if text and text.strip():
            tqdm.write(text.rstrip(), file=sys.stderr)


def _tail(logs: list[str] | None) -> str:
    """The end of a failed job's logs, and where they are."""
    parts = []
    for log in map(Path, logs or []):
        text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        lines = [line for line in re.split(r"[\r\n]+", text) if line.strip()]
        parts += [*lines[-TAIL:], f"all of it: {log}"]
    return "\n".join(parts)
