#!/usr/bin/env python3
"""run.py PARLEY: a new user's first hour with a messy table, by the command line and in Python, whose outputs must be the
same bytes; then tables from the packages of scikit-learn and statsmodels, each trained with no option but the label and
compared with scikit-learn's usual pipeline. Needs the package parley, scikit-learn, pandas and statsmodels."""
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools"))

import pages  # noqa: E402

PARLEY = os.path.abspath(sys.argv[1])
NAMES = ["id", "age", "income", "city", "joined", "plan", "weight", "churn"]
passed = failed = 0


def check(good, what, said=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED", what, "\n   ", said, flush=True)


def parley(*words, code=0, text=""):
    run = subprocess.run([PARLEY, *map(str, words)], input=text, capture_output=True, text=True, timeout=120, check=False)
    check(run.returncode == code, f"parley {' '.join(map(str, words))} ends with {run.returncode}, not {code}", run.stderr)
    return run


def messy_rows(count, seed):
    draw = random.Random(seed)
    rows = []
    for i in range(count):
        age, income = draw.randint(18, 80), draw.lognormvariate(10, 0.5)
        city, plan = draw.choice(["Oslo", "Rome", "São Paulo", 'St. "John"', "Bonn, West"]), draw.choice(["free", "paid"])
        joined = datetime.date(2015, 1, 1) + datetime.timedelta(draw.randint(0, 3000))
        score = 0.05 * (age - 45) + (income - 25000) / 20000 + (city == "Oslo") - (city == "Rome") + (plan == "paid") * 0.5
        label = "yes" if score + 0.2 * (joined.year - 2019) + draw.gauss(0, 1) > 0 else "no"
        rows.append([f"u{i + 10000 * seed}", "" if draw.random() < 0.1 else age, "on request" if draw.random() < 0.01 else f"{income:.2f}",
                     "unknown" if draw.random() < 0.05 else city, joined.isoformat(), plan, draw.choice([1, 2]), label])
    return rows


def write(path, rows, names):
    places = [NAMES.index(name) for name in names]
    with open(path, "w", encoding="utf-8") as file:
        for row in [NAMES, *rows]:
            cells = [str(row[place]) for place in places]
            quoted = ['"' + cell.replace('"', '""') + '"' if "," in cell or '"' in cell else cell for cell in cells]
            file.write(",".join(quoted) + "\n")


def write_tables():
    train, test = messy_rows(1400, 1), messy_rows(600, 2)
    write("train.csv", train, NAMES)
    write("test.csv", test, NAMES)
    write("turned.csv", test, NAMES[::-1])
    write("bare.csv", test, ["plan", "joined", "city", "income", "age"])
    other = [row[:3] + ["Atlantis"] + row[4:] for row in test[:7]]
    write("other.csv", other, NAMES)


def command_line():
    """The story on the command line. Returns the lines that `predict` prints."""
    asks = parley("train", "train.csv", code=2).stderr
    check("name the label column with --label-column" in asks and "churn" in asks, "a missing label column is asked for", asks)
    said = parley("train", "train.csv", "--label-column", "churn", "--weight-column", "weight", "--model", "m").stderr
    for part in ("id (such as u", "joined read as a date", "missing values: age", "words in columns of numbers", "income"):
        check(part in said, f"training says: {part}", said)
    whole = json.loads(parley("eval", "m", "test.csv", "--json").stdout)
    check(whole["accuracy"] > 0.75 and whole["rows"] == 600, "the model is good on other rows", whole)
    check(json.loads(parley("eval", "m", "turned.csv", "--json").stdout) == whole, "the order of columns does not matter")
    check("no column churn" in parley("eval", "m", "bare.csv", code=1).stderr, "a table without labels cannot be evaluated")
    lines = {kind: parley("predict", "m", "test.csv", "--output", kind).stdout for kind in ("label", "decision", "probability")}
    for table in ("turned.csv", "bare.csv"):
        for kind, expected in lines.items():
            check(parley("predict", "m", table, "--output", kind).stdout == expected, f"predict {table} --output {kind}")
    check(set(lines["label"].split()) == {"no", "yes"}, "predictions are the words of the labels")
    said = parley("predict", "m", "other.csv").stderr
    check("never seen" in said and "city 7 (such as Atlantis)" in said, "unseen categories are counted", said)
    with open("rows.svm", "w", encoding="ascii") as file:
        file.write("1 1:2 3:1\n")
    check("no names" in parley("predict", "m", "rows.svm", code=1).stderr, "rows without names are refused")
    parley("convert", "train.csv", "train.cache", "--to", "cache", "--label-column", "churn", "--weight-column", "weight", "--quiet")
    parley("train", "train.cache", "--model", "from_cache", "--quiet")
    check(open("m", "rb").read() == open("from_cache", "rb").read(), "a cache of the table gives the same model")
    for extra in (["--standardise"], ["--missing", "indicator"], ["--interactions", "age:city"], ["--l1-ratio", "0.5"],
                  ["--columns", "age,city"], ["--ignore", "income,joined,weight"]):
        ignored = [] if {"--columns", "--ignore"} & set(extra) else ["--ignore", "weight"]
        parley("train", "train.csv", "--label-column", "churn", "--model", "x", "--quiet", *extra, *ignored)
        first = parley("predict", "x", "test.csv").stdout
        check(first == parley("predict", "x", "bare.csv").stdout, f"{extra} is remembered by the model")
    return lines


def number(value):
    """A number as the command line prints it."""
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def python(lines):
    """The same story in Python, compared with what the command line printed."""
    import parley as package

    warnings.simplefilter("ignore")
    model = package.train("train.csv", label_column="churn", weight_column="weight")
    model.save("python.model")
    check(open("m", "rb").read() == open("python.model", "rb").read(), "Python and the command line give the same file")
    for source in (model, package.load("m")):
        for table in ("test.csv", "turned.csv", "bare.csv"):
            check("".join(f"{word}\n" for word in source.predict(table)) == lines["label"], f"Python predicts {table}")
            shown = "".join(f"{number(value)}\n" for value in source.decision_function(table))
            check([float(v) for v in shown.split()] == [float(v) for v in lines["decision"].split()], f"decisions of {table}")
    import numpy as np

    found = model.predict_proba("test.csv")[:, 1]
    check(np.allclose(found, [float(v) for v in lines["probability"].split()], rtol=1e-12), "probabilities agree")


def data_sets():
    """Tables from packages, with names: (name, frame, label, whether it is a classification)."""
    import pandas as pd
    import statsmodels
    from sklearn import datasets

    for name in ("iris", "wine", "breast_cancer", "diabetes"):
        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
        frame = bunch.frame.copy()
        if hasattr(bunch, "target_names"):
            frame["target"] = [str(bunch.target_names[i]) for i in bunch.target]
        yield name, frame, "target", name != "diabetes"
    folder = os.path.join(os.path.dirname(statsmodels.__file__), "datasets")
    tables = [("anes96", "vote", True, "\t"), ("fair", "affairs", False, ","), ("star98", "PR50M", False, ","),
              ("statecrime", "murder", False, ","), ("modechoice", "choice", True, ";"), ("copper", "WORLDCONSUMPTION", False, ","),
              ("spector", "GRADE", True, r"\s+")]
    for name, label, classes, separator in tables:
        quote = '"' if separator == "," else "'"
        frame = pd.read_csv(os.path.join(folder, name, f"{name}.csv"), sep=separator, quotechar=quote)
        yield name, frame, label, classes


def usual_pipeline(frame, test, label, classes):
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    X = frame.drop(columns=label)
    numbers = [column for column in X if pd.api.types.is_numeric_dtype(X[column])]
    words = [column for column in X if column not in numbers]
    prepare = ColumnTransformer([
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        ("words", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), words),
    ])
    model = make_pipeline(prepare, LogisticRegression(max_iter=5000) if classes else Ridge())
    return model.fit(X, frame[label]).score(test.drop(columns=label), test[label])


def known_tables():
    """Without further options Parley is as good as the pipeline to half a point, or one line says which option makes it so."""
    import numpy as np

    for name, frame, label, classes in data_sets():
        test = np.random.default_rng(0).random(len(frame)) < 0.3
        frame[~test].to_csv("known.csv", index=False)
        frame[test].to_csv("known_test.csv", index=False)
        theirs = usual_pipeline(frame[~test], frame[test], label, classes)
        scores, said = [], ""
        for extra in ([], ["--standardise"]):
            run = parley("train", "known.csv", "--label-column", label, "--model", "known", *extra)
            check("status         converged" in run.stdout, f"{name} {extra} converges", run.stdout)
            scores.append(json.loads(parley("eval", "known", "known_test.csv", "--json").stdout)["accuracy" if classes else "r2"])
            said = said or run.stderr
        good = scores[0] >= theirs - 0.005 or ("--standardise" in said and scores[1] >= theirs - 0.005)
        check(good, f"{name}: {scores[0]:.4f}, standardised {scores[1]:.4f}, scikit-learn {theirs:.4f}", said)
        helps = "--standardise" not in said or scores[1] >= scores[0]
        check(helps, f"{name}: {scores[0]:.4f}, and with --standardise, which was suggested, {scores[1]:.4f}", said)


def shop_rows(count):
    """A table as a shop writes it: currencies, units, percentages, times, dates, brackets, bounds and words for missing."""
    draw = random.Random(5)
    rows = [["price", "weight", "rate", "open", "since", "balance", "stock", "limit", "offer", "score", "seller", "sold"]]
    for i in range(count):
        price, weight, rate = draw.lognormvariate(6.5, 0.8), draw.uniform(0.5, 40), draw.randint(0, 100)
        hour, minute, balance, stock = draw.randint(0, 23), draw.randint(0, 59), draw.randint(-3000, 3000), draw.randint(500, 9000)
        since = datetime.date(2019, 1, 1) + datetime.timedelta(draw.randint(0, 1500))
        limit, offer, score = draw.randint(1, 30), draw.randint(100, 2500), draw.randint(0, 9)
        seller = draw.choice(["north", "south", "west"])
        z = (0.9 * (price - 900) / 700 - 0.08 * (weight - 20) + 0.02 * (rate - 50) + 0.08 * (hour - 12) + balance / 2500
             + (since.year - 2021) * 0.5 + stock / 4000 - 1.2 - offer / 1500 + 0.8 + 0.1 * score - 0.4 + (seller == "west") * 0.7)
        rows.append([f"${price:,.2f}", f"{weight:.1f} kg", f"{rate}%", f"{hour:02}:{minute:02}", f"{since.day} {since:%b %Y}",
                     f"({-balance})" if balance < 0 else str(balance), f"{stock:,}".replace(",", "\N{NO-BREAK SPACE}"),
                     "<5" if limit < 5 else str(limit), f"{offer} €", "missing" if draw.random() < 0.2 else str(score), seller,
                     "yes" if z + draw.gauss(0, 1.8) > 0 else "no"])
        if draw.random() < 0.05:
            rows[-1][4] = "-"
    return rows


def cleaned(frame):
    """The same as numbers, as one writes it in pandas by hand, column by column."""
    import pandas as pd

    frame = frame.copy()
    for name, marks in [("price", "[$,]"), ("weight", " kg"), ("rate", "%"), ("stock", "\N{NO-BREAK SPACE}"), ("limit", "<"), ("offer", " €")]:
        frame[name] = frame[name].str.replace(marks, "", regex=True).astype(float)
    frame["balance"] = frame["balance"].str.replace(r"\((\d+)\)", r"-\1", regex=True).astype(float)
    frame["open"] = pd.to_timedelta(frame["open"] + ":00").dt.total_seconds() / 3600
    since = pd.to_datetime(frame["since"], format="%d %b %Y", errors="coerce")
    frame["since"] = (since - pd.Timestamp(2000, 1, 1)).dt.days / 365.2425
    frame["score"] = pd.to_numeric(frame["score"], errors="coerce")
    return frame


def written_numbers():
    """Amounts, times and dates reach what pandas and scikit-learn reach after cleaning by hand, with the same columns."""
    import csv

    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rows = shop_rows(2400)
    for path, part in ("shop.csv", rows[:1681]), ("shop_test.csv", rows[:1] + rows[1681:]):
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(part)
    train, test = (cleaned(pd.read_csv(path, dtype=str)) for path in ("shop.csv", "shop_test.csv"))
    numbers = [name for name in train if name not in ("seller", "sold")]
    prepare = make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), numbers), (OneHotEncoder(), ["seller"]))
    model = make_pipeline(prepare, LogisticRegression()).fit(train, train["sold"])
    theirs = roc_auc_score(test["sold"] == "yes", model.predict_proba(test)[:, 1])
    for extra in ([], ["--standardise"]):
        said = parley("train", "shop.csv", "--label-column", "sold", "--model", "shop", *extra).stderr
        check("10 columns of numbers, 1 of categories" in said, "all amounts are numbers", said)
        shown = parley("predict", "shop", "shop_test.csv", "--output", "decision").stdout
        ours = roc_auc_score(test["sold"] == "yes", [float(word) for word in shown.split()])
        print(f"shop {' '.join(extra)}: AUC {ours:.4f}, pandas and scikit-learn {theirs:.4f}")
        check(ours >= theirs - 0.005, f"amounts {extra}: AUC {ours:.4f}, scikit-learn {theirs:.4f}", said)


def page(path):
    """The indented commands of docs/tables.md, on the table that the page describes."""
    write("customers.csv", messy_rows(1400, 1), [name for name in NAMES if name != "weight"])
    with open(path, encoding="utf-8") as file:
        commands = [line.split()[1:] for line in file if line.startswith("    parley ")]
    check(len(commands) >= 5, "the page has commands")
    said = [parley(*words) for words in commands]
    for part in ("id (such as u", "joined read as a date", "categories: city", "missing values: age", "words in columns of numbers", "scale:"):
        check(any(part in run.stderr for run in said), f"a command of the page says: {part}")


def topics_page():
    """The example of docs/topics.md, in the order of the page: what it shows is what commands print."""
    files, commands = pages.example("topics.md", "From raw text to topics")
    for name, text in files.items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    check(len(commands) >= 5 and sum(bool(shown) for _, shown in commands) >= 3, "the page of topics has commands", commands)
    path = os.path.dirname(PARLEY) + os.pathsep + os.environ["PATH"]
    for command, shown in commands:
        run = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": path})
        check(run.returncode == 0 and shown in (run.stdout, ""), f"docs/topics.md: {command}", run.stdout + run.stderr)


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with tempfile.TemporaryDirectory(prefix="parley-first-hour-") as folder:
        os.chdir(folder)
        write_tables()
        lines = command_line()
        python(lines)
        known_tables()
        written_numbers()
        page(os.path.join(root, "docs", "tables.md"))
        topics_page()
        os.chdir("/")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
