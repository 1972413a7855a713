"""Every preset with every loss and penalty trains, or is rejected with a sentence that names the nearest one that does.
The recommendations are tried."""

import itertools
import re
from functools import partial

from product import demand, start

SEVERAL = ("softmax", "logistic", "hinge", "squared-hinge")  # losses that take more than two classes
PENALTIES = {
    "none": ["--lambda", "0"],
    "l2": ["--lambda", "0.01"],
    "l1": ["--lambda", "0.01", "--l1-ratio", "1"],
    "elastic net": ["--lambda", "0.01", "--l1-ratio", "0.5"],
}
ACCEPTED = (0, 3)  # done, or stopped before the target gap
REFUSED = (2, 1)  # because of the options, or because of the labels of a stream


def with_flags(flags, changes):
    """Replaces some of the flags."""
    merged = dict(zip(flags[::2], flags[1::2])) | changes
    if merged.get("--lambda") == "0":
        merged.pop("--l1-ratio", None)
    return [word for pair in merged.items() for word in pair]


def recommended(sentence):
    """The remedies in a message, `use A, B or C` with flags, each as the flags that it changes."""
    found, flag = [], None
    ways = sentence.rpartition("use ")[2].partition(" (see ")[0]
    for way in re.split(r", or |, | or ", ways):
        words, changes = way.replace("a small --lambda", "--lambda 0.001").replace(" with ", " ").split(), {}
        for word in words:
            if word.startswith("--"):
                flag = word
            elif flag:
                changes[flag], flag = word, None
        found += [changes] if changes else []
    return found


def attempt(parley, folder, data, flags):
    """Runs one round; returns (exit code, sentence)."""
    rounds = [] if "online" in flags else ["--rounds", 1]
    done = start(parley, ["train", data, *flags, *rounds, "--quiet", "--model", folder / "model.safetensors"])
    return done.returncode, done.stderr.strip()


def explain(parley, folder, data, flags):
    """Returns None if the flags are accepted, else the error sentence, which must name a remedy that works."""
    command = " ".join(flags)
    code, sentence = attempt(parley, folder, data, flags)
    if code in ACCEPTED:
        return None
    demand(code in REFUSED, f"{command}: exit code {code}: {sentence}")
    demand(len(sentence.splitlines()) == 1 and "use " in sentence, f"{command}: names no way out: {sentence}")
    if "is for problem" in sentence:
        return sentence  # the remedy is another command
    ways = recommended(sentence)
    demand(ways, f"{command}: names no way out: {sentence}")
    for changes in ways:
        code, answer = attempt(parley, folder, data, with_flags(flags, changes))
        demand(code in ACCEPTED, f"{command}: {sentence}\n    but with {changes}: {code}: {answer}")
    return sentence


def every_loss_and_penalty(parley, folder, preset, losses, data):
    """Tests one preset and reports all failures at once."""
    failures = []
    for (loss, several), (penalty, flags) in itertools.product(losses, PENALTIES.items()):
        try:
            explain(parley, folder, data(folder, loss, several), ["--preset", preset, "--loss", loss, *flags])
        except AssertionError as failure:
            failures.append(str(failure))
    demand(not failures, "\n    ".join(failures))


def refusal_cases(presets, losses, data):
    """`losses` are pairs: a name, and whether there are several classes; `data` writes a file for such a pair."""
    for preset in presets:
        yield f"refusals: {preset} with every loss and penalty", partial(
            every_loss_and_penalty, preset=preset, losses=losses, data=data
        )
