"""Drumbeat and Apache Kafka under the same load on the same machine: `make bench`.

The raw client and the way to Apache Kafka's jars are those of the tests.
"""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
sys.path.append(str(REPOSITORY / "tests"))
