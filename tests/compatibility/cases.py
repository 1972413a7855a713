"""What a release wrote and what must come of it for ever. FILES are the commands that make the files of a release; CASES
are commands that read them, whose standard output (of the last command) is kept beside the files.

The losses are those without exponentials, so that models are the same bits on every machine."""


def row(i):
    """Half of nine columns, and a label that depends on some of them."""
    entries = [(j, ((i * 13 + j * 5) % 17 - 8) / 4) for j in range(i % 3, 9, 2)]
    side = sum(value if j < 4 else -value / 2 for j, value in entries)
    return f"{1 if side > 0 else -1}" + "".join(f" {j + 1}:{value}" for j, value in entries) + "\n"


DATA = "".join(row(i) for i in range(48))
NAMED = "height,colour,class\n" + "".join(
    f"{(i * 5) % 11 / 2},{['red', 'green', 'blue'][i % 3]},{['small', 'large', 'odd'][(i * 2) % 7 % 3]}\n" for i in range(30)
)
WORDS = "".join(f"{1 if i % 5 < 2 else -1} |word w{i % 5} w{(i * 3) % 7}:0.5 |other x{i % 4}\n" for i in range(30))

TEXTS = {"data.svm": DATA, "named.csv": NAMED, "words.vw": WORDS}

METHODS = {
    "cocoa": "--preset cocoa+ --loss hinge --lambda 0.01 --workers 2 --lanes 2",
    "lasso": "--preset cocoa+ --local scd --loss squared --l1-ratio 1 --lambda 0.01 --workers 2",
    "lbfgs": "--preset lbfgs --loss squared-hinge --workers 2 --history 3",
    "newton": "--preset newton --loss squared --workers 2",
    "sgd": "--preset ma-sgd --loss hinge --lambda 0.01 --rate 0.1 --schedule constant --workers 2",
}

FILES = [
    "convert data.svm data.parley",
    "convert named.csv named.parley",
    "convert words.vw words.parley --hash-bits 6",
    "train data.svm --loss squared --lambda 0.1 --gap 1e-6 --workers 2 --model squared.safetensors --quiet",
    "train named.csv --loss squared-hinge --gap 1e-4 --workers 2 --model classes.safetensors --quiet",
    "train words.vw --loss hinge --gap 1e-3 --lambda 0.01 --hash-bits 6 --workers 2 --model hashed.safetensors --quiet",
    "train words.vw --preset online --loss squared --hash-bits 6 --model stream.safetensors --quiet",
    "path data.svm --loss squared --lambda-list 1,0.1,0.01 --model path.safetensors --quiet",
    "train data.svm --preset cocoa+ --loss squared --lambda 0.01 --workers 3 --local-steps auto --gap 0 --rounds 12 --log run.jsonl"
    " --model replayed.safetensors --quiet",
] + [
    f"train data.svm {options} --gap 0 --rounds 5 --checkpoint checkpoint-{name} --model out.safetensors --quiet" for name, options in METHODS.items()
]

CASES = {
    "cache": ["convert data.parley -"],
    "cache-names": ["convert named.parley out.csv", "convert out.csv -"],
    "cache-hashed": ["convert words.parley -"],
    "predict-squared": ["predict squared.safetensors data.svm --output decision"],
    "predict-cache": ["predict squared.safetensors data.parley --output decision"],
    "predict-classes": ["predict classes.safetensors named.csv"],
    "predict-path": ["predict path.safetensors data.svm --output decision --at 0.1"],
    "predict-hashed": ["predict hashed.safetensors words.vw --output decision"],
    "predict-stream": ["predict stream.safetensors words.vw --output decision"],
    "dump-classes": ["dump classes.safetensors --json"],
    "report": ["report run.jsonl --json"],
    "replay": ["train data.svm --replay run.jsonl --model out.safetensors --quiet", "dump out.safetensors --json"],
} | {
    f"resume-{name}": [
        f"train data.svm --resume checkpoint-{name} --rounds 9 --model out.safetensors --quiet",
        "dump out.safetensors --json",
    ]
    for name in METHODS
}

# A later version of a format is refused by a sentence, not misread: file, its format, the command, the sentence.
LATER = [
    ("data.parley", "parley-data-1", "convert data.parley -", "parley-data-2"),
    ("squared.safetensors", "parley-model-1", "predict squared.safetensors data.svm", "parley-model-2"),
    ("path.safetensors", "parley-path-1", "predict path.safetensors data.svm", "parley-path-2"),
]
