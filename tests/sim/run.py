"""One simulated history (--seed), or as many as fit into some seconds (--seconds)."""

import argparse
import sys
import time
from random import SystemRandom

from sim.parameters import draw
from sim.simulation import simulate


def main() -> int:
    parser = argparse.ArgumentParser(prog="make sim", description=__doc__)
    parser.add_argument("--seed", type=int, help="the history to replay")
    parser.add_argument("--seconds", type=float, default=30.0, help="for random seeds")
    parser.add_argument("--trace", action="store_true", help="print every step")
    options = parser.parse_args()
    if options.seed is not None:
        return _run_one(options.seed, options.trace)
    return _run_batch(options.seconds)


def _run_one(seed: int, is_traced: bool) -> int:
    print(f"seed {seed}\n{draw(seed)}", flush=True)
    result = simulate(seed)
    if is_traced:
        print("\n".join(result.verdict.trace))
    if not result.is_good:
        print(result.report())
        return 1
    print(f"{len(result.verdict.trace)} steps, every law held")
    for what, times in sorted(result.verdict.seen.items()):
        print(f"  {times:6} {what}")
    return 0


def _run_batch(seconds: float) -> int:
    ends_at = time.monotonic() + seconds
    seeds = SystemRandom()
    histories = steps = 0
    while time.monotonic() < ends_at:
        seed = seeds.randrange(10**9)
        print(f"seed {seed}: ", end="", flush=True)
        result = simulate(seed)
        print(f"{len(result.verdict.trace)} steps")
        if not result.is_good:
            print(result.report())
            return 1
        histories += 1
        steps += len(result.verdict.trace)
    print(f"{histories} histories, {steps} steps, every law held")
    return 0


if __name__ == "__main__":
    sys.exit(main())
