"""One pass of Vowpal Wabbit in its own process: vw_peer.py DATA BITS LOSS. Prints seconds and progressive loss."""

import json
import sys
import time

from vowpalwabbit import Workspace


def main():
    path, bits, loss = sys.argv[1:]
    began = time.perf_counter()
    learner = Workspace(f"-d {path} --loss_function {loss} -b {bits} --quiet")
    learner.run_parser()
    learner.finish()
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "loss": learner.get_sum_loss() / learner.get_weighted_examples()}))


if __name__ == "__main__":
    main()
