"""Run a recorder: `.venv/bin/python -m packages.headwater.tests.truth.recorders NAME`."""

from __future__ import annotations

import sys
from importlib import import_module

import_module(f"{__package__}.{sys.argv[1]}").main()
