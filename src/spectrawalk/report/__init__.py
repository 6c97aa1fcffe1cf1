"""The report of a run: one HTML file that holds all it shows and asks the network for nothing."""

from spectrawalk.report.page import report_html

__all__ = ["report_html"]
