"""The report: tables, figures and one page, made from the results of an experiment."""

from protocol.report.drawing import figure_files, table_files, write_folder
from protocol.report.leak import leak_figure, leak_text, leaks, summarise_leaks
from protocol.report.page import page
from protocol.report.results import reading
