"""The report of a run: `report.write_report` turns a run directory into one page."""
