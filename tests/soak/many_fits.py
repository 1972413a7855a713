#!/usr/bin/env python3
"""many_fits.py LIBPARLEY [--fits N] [--seconds T] [--seed S]: many fits in one process must leave nothing behind.

Trains with every preset on small data, saves, loads and applies the models, and makes calls that are refused. After a warm-up of
an eighth of the fits the process may have no more open files, threads and maps of shared memory than before, and its
resident memory may grow by at most MOST_GROWTH. The last line is a JSON object with the counts."""

import argparse
import ctypes
import json
import os
import random
import sys
import time

MOST_GROWTH = 4 << 20  # bytes of resident memory, from the end of the warm-up to the end
ROWS, COLUMNS = 60, 8
FLOAT32 = 0  # PARLEY_FLOAT32
SENTENCE = 1024


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("sentence", ctypes.c_char * SENTENCE)]


class Library:
    """The functions of parley.h that the fits need."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.parley_list_at.restype = ctypes.c_char_p
        self.lib.parley_list_at.argtypes = [ctypes.c_char_p, ctypes.c_uint, ctypes.POINTER(ctypes.c_char_p)]
        for name in ("settings", "data", "model"):
            getattr(self.lib, f"parley_{name}_free").argtypes = [ctypes.c_void_p]
        self.lib.parley_bytes_free.argtypes = [ctypes.c_void_p]

    def presets(self):
        names, help_text = [], ctypes.c_char_p()
        while name := self.lib.parley_list_at(b"presets", len(names), ctypes.byref(help_text)):
            names.append(name.decode())
        return names

    def call(self, name, *arguments):
        """Returns NULL or the sentence of the failure."""
        error = Error()
        status = getattr(self.lib, name)(*arguments, ctypes.byref(error))
        return error.sentence.decode() if status else None

    def must(self, name, *arguments):
        sentence = self.call(name, *arguments)
        if sentence:
            sys.exit(f"{name}: {sentence}")

    def settings(self, **values):
        handle = ctypes.c_void_p()
        self.must("parley_settings_new", ctypes.byref(handle))
        for name, value in values.items():
            self.must("parley_settings_set", handle, name.encode(), str(value).encode())
        return handle

    def data(self, values, labels):
        handle = ctypes.c_void_p()
        shape = [ctypes.c_uint64(ROWS), ctypes.c_uint64(COLUMNS), values, ctypes.c_int(FLOAT32)]
        strides = [ctypes.c_int64(COLUMNS), ctypes.c_int64(1)]
        self.must("parley_data_from_dense", *shape, *strides, labels, None, ctypes.c_uint(1), ctypes.byref(handle))
        return handle


def fit(parley, preset, values, labels):
    """One fit, a round trip of its model through bytes, predictions, and a call that is refused."""
    data = parley.data(values, labels)
    settings = parley.settings(preset=preset, workers=random.choice((1, 2, 3)), threads=random.choice((1, 2)), rounds=3)
    model, again, content, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    parley.must("parley_train", data, settings, None, None, ctypes.byref(model), None)
    parley.must("parley_model_to_bytes", model, ctypes.byref(content), ctypes.byref(size))
    parley.must("parley_model_from_bytes", content, size, ctypes.byref(again))
    first, second = (ctypes.c_double * ROWS)(), (ctypes.c_double * ROWS)()
    parley.must("parley_decide", model, data, first)
    parley.must("parley_decide", again, data, second)
    if bytes(first) != bytes(second):
        sys.exit(f"{preset}: a model and its copy decide differently")
    refused = parley.settings(preset="newton", l1_ratio=0.5, **{"lambda": 0.1})
    none = ctypes.c_void_p()
    if not parley.call("parley_train", data, refused, None, None, ctypes.byref(none), None) or none.value:
        sys.exit("newton with an L1 penalty was not refused")
    parley.lib.parley_bytes_free(content)
    for handle in (model, again):
        parley.lib.parley_model_free(handle)
    for handle in (settings, refused):
        parley.lib.parley_settings_free(handle)
    parley.lib.parley_data_free(data)


def held():
    """What the process holds: open files, threads, maps of shared memory, resident bytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        lines = dict(line.split(":", 1) for line in status)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        shared = sum("/dev/shm/" in line or "memfd:" in line for line in maps)
    return {
        "files": len(os.listdir("/proc/self/fd")),
        "threads": int(lines["Threads"]),
        "shared": shared,
        "bytes": int(lines["VmRSS"].split()[0]) * 1024,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--fits", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    parley = Library(os.path.abspath(arguments.library))
    presets = [name for name in parley.presets() if name != "online"]  # which reads streams, not arrays
    values = (ctypes.c_float * (ROWS * COLUMNS))(*[random.gauss(0, 1) for _ in range(ROWS * COLUMNS)])
    labels = (ctypes.c_double * ROWS)(*[1.0 if values[i * COLUMNS] + random.gauss(0, 0.3) > 0 else -1.0 for i in range(ROWS)])
    began = time.monotonic()
    warm, done = None, 0
    while done < arguments.fits and time.monotonic() - began < arguments.seconds:
        fit(parley, presets[done % len(presets)], values, labels)
        done += 1
        share = max(done / arguments.fits, (time.monotonic() - began) / arguments.seconds)
        if warm is None and done >= 2 * len(presets) and share >= 0.125:
            warm = held()
    after = held()
    if warm is None:
        sys.exit(f"only {done} fits, too few to compare")
    grown = {name: after[name] - warm[name] for name in after}
    wrong = [name for name in ("files", "threads", "shared") if grown[name] > 0]
    wrong += ["bytes"] if grown["bytes"] > MOST_GROWTH else []
    print(json.dumps({"fits": done, "failed": len(wrong), "grown": grown, "seconds": round(time.monotonic() - began, 1)}))
    if wrong:
        sys.exit(f"after {done} fits the process holds more {', '.join(wrong)}: {warm}, then {after}")


if __name__ == "__main__":
    main()
