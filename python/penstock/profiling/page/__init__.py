"""Profiles as files: an HTML page, a trace for Perfetto, a picture."""

from penstock.profiling.page.picture import save_picture
from penstock.profiling.page.report import save_report
from penstock.profiling.page.save import check_path, save
from penstock.profiling.page.trace import save_trace

__all__ = ["check_path", "save", "save_picture", "save_report", "save_trace"]
