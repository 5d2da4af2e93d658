"""How long tests that kill a node go on, and which of many possible runs they are."""

import os

SECONDS = float(os.environ.get("CRASH_SECONDS") or 0)  # 0: as short as makes sense
SEED = int(os.environ.get("CRASH_SEED") or 1)
