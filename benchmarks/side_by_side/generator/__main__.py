"""Reads a job from standard input, runs it and writes its result to standard output."""

import gc
import pickle
import sys

from benchmarks.side_by_side.processes import raise_descriptor_limit


def main() -> None:
    job = pickle.load(sys.stdin.buffer)
    raise_descriptor_limit()
    # A pause of the collector would be taken for one of the server.
    gc.disable()
    pickle.dump(job.run(), sys.stdout.buffer)


if __name__ == "__main__":
    main()
