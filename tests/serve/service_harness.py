"""What a service must bear, in processes of their own; see docs/service.md.

    python tests/serve/service_harness.py fuzz [REQUESTS]      random requests by schemathesis
    python tests/serve/service_harness.py load [SECONDS]       50 readers, 4 writers, then a kill -9
    python tests/serve/service_harness.py full                 the disk is full
    python tests/serve/service_harness.py hostile [IDLE]       clients that mean no good

Only loopback addresses are used.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

if __name__ == "__main__":
    what, *given = sys.argv[1:] or ["help"]
    numbers = [int(number) for number in given]
    if what == "fuzz":
        from fuzz import fuzz

        print(f"{fuzz(*(numbers or [100_000])):,} requests")
    elif what in ("load", "full"):
        import load

        getattr(load, what)(*numbers)
    elif what == "hostile":
        from hostile import attack

        attack(*numbers)
    else:
        print(__doc__)
