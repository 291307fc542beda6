# client.py FILE: the Python logger of docs/sending-logs.md, which FILE has.  Commands as in
# test/npm/client.js.
import runpy
import sys
import time

logger = runpy.run_path(sys.argv[1])["logger"]
for line in sys.stdin:
    command, tag, *numbers = line.split()
    if command == "one":
        logger.warning("%s payment refused by python", tag, extra={"order": 4711, "cart": {"items": 2}})
    else:
        count, rate = map(int, numbers)
        start = time.monotonic()
        for i in range(1, count + 1):
            logger.info("%s line %d", tag, i, extra={"order": i})
            if rate and (ahead := start + i / rate - time.monotonic()) > 0.02:
                time.sleep(ahead)
    print("done", tag, flush=True)
