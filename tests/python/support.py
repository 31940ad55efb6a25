"""Lets the tests import the runner's Python files, from the source tree."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = os.path.join(ROOT, "src", "runner", "python")
if PYTHON not in sys.path:
    sys.path.insert(0, PYTHON)
