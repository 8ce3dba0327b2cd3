"""What measures the families' cases: the files beside this folder only say what to measure."""
