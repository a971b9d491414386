# SPDX-License-Identifier: Apache-2.0
"""Models of every kind of term and family, as docs/model.md describes their files.

    model_file.py fit PROGRAM FOLDER       writes them, and their predictions for new rows
    model_file.py schema SCHEMA FOLDER EARLIER   holds the schema against them, and against tests/data/models
    model_file.py predict SCRIPT FOLDER    compares the predictions of SCRIPT
    model_file.py earlier PROGRAM EARLIER  reads the models of earlier programs, tests/data/models, and predicts as these did
"""
import csv
import datetime
import json
import math
import os
import random
import subprocess
import sys
import tempfile

# Name, formula, family, further arguments, and the features that SCRIPT must refuse by name.
MODELS = [
    ("bsplines", 'y ~ s(x, bs="ps", k=8) + s(z, bs="bs", k=7)'),
    ("values", 'y ~ s(x, bs="cr", k=8) + s(z, bs="cs", k=6) + s(w, k=5, bs="cr", fx=TRUE)'),
    ("cyclic", 'y ~ s(x, bs="cc", k=7) + s(z, bs="cp", k=7)', "gaussian", "", "--knots", "x=0,1"),
    ("thin_plate", 'y ~ s(x, k=8) + s(z, bs="ts", k=6)'),
    ("surface", 'positive ~ s(x, z, k=15)', "gamma"),
    ("duchon", 'y ~ s(x, z, bs="ds", k=12, m=c(1, 0.5))'),
    ("gaussian_process", 'y ~ s(x, bs="gp", k=6) + s(x, z, bs="gp", k=12)', "gaussian", "Gaussian process"),
    ("tensor", 'count ~ te(x, z, k=c(5, 4), bs=c("ps", "cr")) + offset(log(e))', "poisson"),
    ("interaction", 'y ~ ti(x, k=5) + ti(z, bs="cr", k=5) + ti(x, z, k=4)'),
    ("products", 'y ~ t2(x, z, k=4)'),
    ("factor_smooth", 'y ~ s(x, g, bs="fs", k=5)'),
    ("districts", 'y ~ s(g, bs="mrf", xt=list(nb=list(p="q", q=c("p", "r"), r=c("q", "s"), s=c("r", "t"), t="s")))'),
    ("curves_of_districts", 'y ~ te(g, x, bs=c("mrf", "cr"), k=c(5, 4), xt=list(list(nb=list(p="q", q=c("p", "r"), r=c("q", "s"), s=c("r", "t"), t="s")), NULL))'),
    ("penalised", 'y ~ f + w + s(x, k=5)', "gaussian", "this is no model of", "--para-pen",
     '{"f": {"S": [[[1, 0], [0, 1]], [[1, -1], [-1, 1]]]}, "w": {"S": [[[1]]], "sp": [2]}}'),
    ("adaptive", 'y ~ s(x, bs="ad", k=15, m=3)'),
    ("zero_sum", 'y ~ s(x, k=5) + s(g, x, bs="sz", k=5)'),
    ("by", 'hit ~ f + s(x, by=f, k=5) + s(z, by=w, k=5) + s(g, bs="re") + s(g, w, bs="re")', "binomial"),
    ("random_margin", 'y ~ te(x, g, bs=c("cr", "re"), k=4) + s(d, bs="re")'),
    ("factors", 'positive ~ f * w + b + g:f + factor(d)', "Gamma(link=log)"),
    ("no_intercept", 'y ~ f - 1 + f:w + s(x, by=factor(d), k=4)'),
    ("polynomial", 'y ~ poly(z, 2)', "gaussian", "poly(z, 2)1"),
    ("computed", 'y ~ log(e) + I(x^2) + (w > 0) + `my col` + I(2 * w) + offset(x) + offset(z)'),
    ("centred", 'y ~ year + s(x, k=5)'),
    ("dates", 'y ~ day + s(x, k=5)', "gaussian", "", "--date", "day"),
    ("ordered", 'y ~ f + s(x, by=f, k=4) + (f > "a")', "gaussian", "", "--ordered", "f=a,b,c"),
    ("determined", 'y ~ w + s(w, k=5)'),
    ("stopped", 'hit ~ s(x, k=5)', "binomial", "", "--max-iterations", "1"),
    ("separated", 'hit ~ apart', "binomial"),
    ("only_intercept", 'y ~ 1'),
    ("side_condition", 'y ~ s(x, bs="cr", k=5) + s(z, k=5) + te(x, z, k=4) + w + twice'),
    ("together", 'y ~ s(x, bs="cr", k=5, id=1) + s(z, bs="cr", k=5, id=1)', "gaussian", "", "--select", "--gamma", "1.4"),
    ("given", 'y ~ s(x, bs="ps", k=8, m=c(2, 1), sp=0.5)', "gaussian", "",
     "--weights", "e", "--offset", "w", "--subset", "z > 0.1", "--rho", "0.3", "--ar-start", "start", "--sample", "50"),
    ("least", 'y ~ s(x, k=5)', "gaussian", "", "--min-sp", "0.1"),
    ("nb", 'count ~ s(x, k=5)', "nb"),
    ("tw", 'some ~ s(x, k=5)', "tw"),
    ("Tweedie", 'some ~ s(x, k=5)', "Tweedie(p=1.5)"),
    ("gaulss", 'list(y ~ s(x, k=5), ~ f)', "gaulss", "this is no model of"),
    ("shared", 'list(y ~ s(x, k=5), ~ f, 1 + 2 ~ s(z, k=5) - 1)', "gaulss", "this is no model of"),
    ("betar", 'share ~ s(x, k=5)', "betar"),
    ("scat", 'y ~ s(x, k=5)', "scat"),
    ("inverse", 'positive ~ w', "inverse.gaussian", "1/mu^2"),
    ("probit", 'hit ~ s(x, k=5)', "binomial(probit)", "probit"),
    ("quasi", 'cbind(hit, 1 - hit) ~ s(x, k=5)', "quasibinomial"),
    ("custom", 'count ~ s(x, k=5)', "@custom.toml", "counts of my own"),
    ("many_levels", 'y ~ s(many, bs="re")', "gaussian", "", "--largest-tested-effect", "2000"),
    ("diagonal", 'y ~ s(x, bs="ps", k=5) + s(many, bs="re")', "gaussian", "", "--largest-tested-effect", "20"),
    ("crossed", 'y ~ s(many, bs="re") + s(more, bs="re")', "gaussian", "", "--largest-tested-effect", "20"),
]
OWN_FAMILY = '''name = "counts of my own"
link = "log"
inverse_link = "exp(0.5 * eta)"
derivative = "0.5 * exp(0.5 * eta)"
variance = "mu"
deviance = "2 * (y * log(pmax(y, 1e-300) / mu) - y + mu)"
'''


def rows(count, seed):
    draw = random.Random(seed)
    for row in range(count):
        x, z, w, e = draw.random(), draw.random(), draw.gauss(0, 1), draw.uniform(0.5, 2)
        f, g = draw.choice("abc"), draw.choice("pqrst")
        mean = math.sin(6 * x) + z * z + 0.3 * w + {"a": 0, "b": 1, "c": -1}[f] * x + 0.2 * "pqrst".index(g)
        hit = int(draw.random() < 0.5 + 0.3 * math.sin(6 * x))
        yield {"x": x, "z": z, "w": w, "e": e, "f": f, "g": g, "d": draw.randint(1, 4), "year": 2000 + row % 20, "twice": 2 * w, "b": draw.choice(["TRUE", "FALSE"]),
               "my col": draw.random(), "many": f"l{row % 520}", "more": f"m{draw.randrange(30)}", "start": int(row % 50 == 0),
               "day": datetime.date(2020, 1, 1) + datetime.timedelta(row % 300),
               "y": mean + draw.gauss(0, 0.3), "positive": math.exp(0.5 * mean) * draw.gammavariate(5, 0.2),
               "count": int(draw.gammavariate(4, math.exp(0.5 * mean) / 4) * 3), "hit": hit, "apart": 2 * hit + draw.random(),
               "share": draw.betavariate(2 + x, 2), "some": max(0.0, draw.gauss(mean, 1))}


def new_rows():
    """Rows like the others, outside the data, without values, with levels that the fit had not, and with days as numbers."""
    new = [{**row, "day": (row["day"] - datetime.date(1970, 1, 1)).days} for row in rows(30, 2)]
    new[0].update(x=-0.5, z=1.7)
    new[1].update(x=1.9, z=-0.4, w=9.0)
    new[2].update(x=0.0, z=1.0, twice="NA")
    for place, (name, value) in enumerate([("x", "NA"), ("z", "NA"), ("w", "NA"), ("e", "NA"), ("d", "NA"), ("my col", "NA"), ("f", "NA"),
                                           ("g", "NA"), ("b", "NA"), ("many", "NA"), ("f", "new"), ("g", "new"), ("d", "7"), ("many", "new")]):
        new[10 + place][name] = value
    return new


def write(path, table):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode not in (0, 4):  # 4: the fit has not converged, and is written as it is
        sys.exit(f"{' '.join(arguments)}:\n{done.stderr}")


def settings():
    """Of each model: name, formula, family, what SCRIPT refuses by name, and more arguments of the fit."""
    for name, formula, *more in MODELS:
        family, refused, *arguments = more + ["gaussian", ""][len(more):]
        yield name, formula, family, refused, arguments


def types(name, refused):
    """What is predicted; the response is refused, and the link may be."""
    return ["link", "response"] if refused or name in ("tensor", "by") else ["response"]


def fit(program, folder):
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    write("table.csv", list(rows(600, 1)))
    write("new.csv", new_rows())
    with open("custom.toml", "w") as file:
        file.write(OWN_FAMILY)
    with open("cases.json", "w") as file:
        json.dump([{"name": name, "refused": refused, "types": types(name, refused)} for name, _, _, refused, _ in settings()], file)
    alone = ["--device", "cpu", "--threads", "1"]
    for name, formula, family, refused, arguments in settings():
        run(program, "fit", "table.csv", "--formula", formula, "--family", family, "--out", f"{name}.json", *alone, *arguments)
        for type in types(name, refused):
            run(program, "predict", f"{name}.json", "new.csv", "--type", type, "--out", f"{name}.{type}.csv", *alone)


def strict(schema):
    """The schema without room for other fields."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: strict(value) for key, value in schema.items()} | ({"additionalProperties": False} if "properties" in schema else {})


def names(value):
    """Of the fields of a file."""
    if isinstance(value, dict):
        return set(value) | set().union(*map(names, value.values()))
    return set().union(*map(names, value)) if isinstance(value, list) else set()


def faults_of(validator, path):
    return [f"{path}: {'.'.join(map(str, one.path))}: {one.message[:200]}" for one in validator.iter_errors(json.load(open(path)))]


def schema(path, folder, earlier):
    import jsonschema
    text = json.load(open(path))
    jsonschema.Draft202012Validator.check_schema(text)
    validator = jsonschema.Draft202012Validator(strict(text))
    missing, faults = set(properties(text)), []
    for name, *_ in settings():
        missing -= names(json.load(open(f"{folder}/{name}.json")))
        faults += faults_of(validator, f"{folder}/{name}.json")
    for model in models_of(earlier):
        missing -= names(json.load(open(model)))  # fields that are written no more
        faults += faults_of(jsonschema.Draft202012Validator(text), model)
    missing -= {"curves", "smooth", "undetermined"}  # of many models, whose files are HDF5
    if missing:
        faults.append(f"no model has {', '.join(sorted(missing))}")
    if faults:
        sys.exit("\n".join(faults))


def properties(schema):
    """The names of the fields that a schema has."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from properties(value)


def table_of(path):
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    return {name: [None if line[name] == "NA" else line[name] for line in lines] for name in lines[0]}


def new_data(folder):
    """The new rows, with the variables that formulas compute as columns."""
    data = table_of(f"{folder}/new.csv")
    for name in data:
        if name not in ("f", "g", "b", "many", "more"):
            data[name] = list(map(number, data[name]))
    polynomials = {"a": (-math.sqrt(0.5), math.sqrt(1 / 6)), "b": (0, -math.sqrt(2 / 3)), "c": (math.sqrt(0.5), math.sqrt(1 / 6))}
    return data | {
        "log(e)": [math.log(e) for e in data["e"]],
        "I(x^2)": [x * x for x in data["x"]],
        "w > 0": [None if math.isnan(w) else w > 0 for w in data["w"]],
        "I(2 * w)": [2 * w for w in data["w"]],
        "factor(d)": data["d"],
        'f > "a"': [f > "a" if f in polynomials else None for f in data["f"]],
        "f.L": [polynomials.get(f, (math.nan, math.nan))[0] for f in data["f"]],
        "f.Q": [polynomials.get(f, (math.nan, math.nan))[1] for f in data["f"]]}


def number(text):
    return math.nan if text is None else float(text)


def is_close(one, other):
    return math.isnan(one) and math.isnan(other) or math.isclose(one, other, rel_tol=1e-8, abs_tol=1e-8)


def predict(script, folder):
    """By the functions of the script, with the data as it wants them."""
    import importlib.util
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("script", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    data, faults = new_data(folder), []
    for name, _, _, refused, _ in settings():
        model = json.load(open(f"{folder}/{name}.json"))
        for type in types(name, refused):
            try:
                found = module.predict(model, data, type)
            except ValueError as fault:
                if refused not in str(fault) or not refused:
                    faults.append(f"{name}, {type}: {fault}")
                continue
            expected = list(map(number, table_of(f"{folder}/{name}.{type}.csv")["fit"]))
            if refused and type == "response":
                faults.append(f"{name}, {type}: is not refused")
            apart = [row for row, (one, other) in enumerate(zip(found, expected)) if not is_close(one, other)]
            if len(found) != len(expected) or apart:
                faults.append(f"{name}, {type}: rows {apart}: " + "; ".join(f"{found[row]} and {expected[row]}" for row in apart[:3]))
    if faults:
        sys.exit("\n".join(faults))


def models_of(folder):
    models = sorted(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".json"))
    return models or sys.exit(f"{folder} has no models")


def earlier(program, folder):
    with tempfile.TemporaryDirectory() as work:
        for model in models_of(folder):
            found = f"{work}/found.csv"
            run(program, "summary", model)
            run(program, "predict", model, f"{folder}/new.csv", "--type", "response", "--se", "--device", "cpu", "--out", found)
            found, expected = table_of(found), table_of(model.replace(".json", ".csv"))
            for column in expected:  # of each linear predictor fit and se
                if not all(map(is_close, map(number, found[column]), map(number, expected[column]))):
                    sys.exit(f"{model}: {column} is {found[column]} in place of {expected[column]}")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
