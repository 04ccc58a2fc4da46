"""The page a run leaves behind."""
from pathlib import Path
def write_report(run_dir: Path) -> Path:
    return run_dir / "report.html"
