"""Runs all programs of this folder in one process and writes the numbers that each leaves in `losses` to a file, as JSON by name:

    python together.py losses.json
    python -m numtorch run together.py losses.json
"""
import json
import runpy
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("drawn", "together"))

if __name__ == "__main__":
    found = {}
    for name in PROGRAMS:
        try:
            found[name] = [float(loss) for loss in runpy.run_path(str(HERE / f"{name}.py"))["losses"]]
        except Exception:
            found[name] = traceback.format_exc()
    Path(sys.argv[1]).write_text(json.dumps(found))
