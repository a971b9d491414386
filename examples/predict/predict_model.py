# SPDX-License-Identifier: Apache-2.0
"""Predictions from a model.json of tessera-fit, with numpy only; docs/model.md describes the fields.

    predict(json.load(open("model.json")), {"x": [0.1, 0.2], "g": ["a", "b"]}, "response")

`data` has columns by name: a dict, or a pandas frame. An expression of the formula, such as log(x), must be a column
of that name. Refused, with a message: Gaussian process smooths, and means for links other than identity, log and logit."""
import numpy as np

LEAST = np.log(np.finfo(float).eps)
MEANS = {"identity": lambda eta: eta, "log": lambda eta: np.exp(np.maximum(eta, LEAST)),
         "logit": lambda eta: 1 / (1 + np.exp(-np.select([eta < -30, eta > 30], [LEAST, -LEAST], eta)))}
RADIAL = {"r^p": lambda r, p: r**p, "r^p log r": lambda r, p: r**p * np.log(np.where(r > 0, r, 1))}


def predict(model, data, type="link"):
    link = model["link"] if type == "response" else "identity"
    if model["format"] != "tessera-fit model" or model["version"] > 6:
        raise ValueError("this is no model of tessera-fit, or one of a newer version: install a newer package")
    if link not in MEANS or (type == "response" and model["family_toml"]):
        raise ValueError(f"the link {link} of the family {model['family']} is not known here: predict with tessera-fit")
    if "offset(" in model["formula"] and "formula_offsets" not in model:
        raise ValueError("the model does not tell its offsets: fit it again")
    design, coefficients = model["design"], np.array([one["value"] for one in model["coefficients"]])
    levels = {one["name"]: one["levels"] for one in design["variables"] if "levels" in one}
    terms = [raw_columns(term, data, levels) for term in design["terms"]]
    begins = np.cumsum([0] + [size for places, values, unseen, size in terms])
    raw, must_be_known, first = np.zeros(begins[-1]), {}, 0
    for block in design["blocks"]:
        own = coefficients[first:first + len(block["names"])].reshape(block.get("copies", 1), -1)
        of_raw, first = times(block["map"], own).ravel(), first + own.size
        raw[block["raw_begin"]:][:len(of_raw)] = of_raw
        term = np.searchsorted(begins, block["raw_begin"], "right") - 1
        known = must_be_known.setdefault(term, set())  # components whose levels must exist in the model
        of_all = "penalty" not in block or block["kind"] in ("fs", "sz")
        known.update(place for place, part in enumerate(design["terms"][term])
                     if of_all or part.get("districts") or (place == 0 and block["by_level"]))
    eta = sum((column(data, name, float) for name in model.get("formula_offsets", [])), np.zeros(len(data[next(iter(data))])))
    for term, known in must_be_known.items():
        places, values, unseen, size = terms[term]
        eta = eta + (values * raw[begins[term] + places]).sum(1) + sum(np.where(unseen[part], np.nan, 0) for part in known)
    return MEANS[link](eta)


def raw_columns(term, data, levels):
    """The nonzero columns of a term per row: indices and values; rows with unseen levels; and the number of columns."""
    places, values, unseen, size = np.zeros((1, 1), int), np.ones((1, 1)), [], 1
    for part in term:  # a Kronecker product, the last component fastest
        own_places, own, own_size = component(part, data, levels)
        places = (places[:, :, None] * own_size + own_places[:, None]).reshape(len(own), -1)
        values = (values[:, :, None] * own[:, None]).reshape(len(own), -1)
        unseen.append((part["variable"] in levels) & (own[:, 0] == 0))
        size *= own_size
    return places, values, unseen, size


def component(part, data, levels):
    if part["variable"] in levels:
        codes = {level: code for code, level in enumerate(levels[part["variable"]])}
        texts = [text(value) for value in column(data, part["variable"], object)]
        value = [[np.nan if one is None else float(one in codes)] for one in texts]
        return np.array([[codes.get(one, 0)] for one in texts]), np.array(value), len(codes)
    x = column(data, part["variable"], float)
    if "margin" in part:
        margin = part["margin"]
        breaks, cells = np.array(margin["breaks"]), len(margin["breaks"]) - 1
        if margin["cyclic"]:
            x = np.where((x < breaks[0]) | (x > breaks[-1]), breaks[0] + (x - breaks[0]) % (breaks[-1] - breaks[0]), x)
        cell = np.clip(np.searchsorted(breaks, x, "right") - 1, 0, cells - 1)
        t = ((x - breaks[cell]) / (breaks[cell + 1] - breaks[cell]))[:, None, None]
        inside, powers = np.clip(t, 0, 1), np.arange(4)
        cubics = np.reshape(margin.get("cells") or [margin["cell"]] * cells, (cells, 4, 4))[cell]
        slopes = powers * inside ** np.maximum(powers - 1, 0)
        values = (cubics * (inside**powers + slopes * (t - inside))).sum(2)
        return margin["stride"] * cell[:, None] + powers, values, margin["stride"] * (cells - 1) + 4
    if "radial" in part:
        radial = part["radial"]
        u = ((x - radial["shift"]) / radial["unit"])[:, None]
        points = (np.array(radial["points"]) - radial["shift"]) / radial["unit"]
        values = np.hstack([abs(u - points)**3 / 12, u**0, u]) @ dense(radial["map"])
    elif "isotropic" in part:
        radial = part["isotropic"]
        if radial["function"] not in RADIAL:
            raise ValueError(f"the function {radial['function']} of a Gaussian process smooth is not known here: predict with tessera-fit")
        u = np.column_stack([x] + [column(data, name, float) for name in radial["others"]]) - radial["shift"]
        r = np.linalg.norm(u[:, None] - dense(radial["points"]), axis=2)
        polynomials = np.prod(u[:, None] ** np.array(radial["powers"]), axis=2)
        values = np.hstack([radial["scale"] * RADIAL[radial["function"]](r, radial["power"]), polynomials]) @ dense(radial["map"])
    else:
        values = x[:, None]
    size = values.shape[1] if "radial" not in part else max(8, -(-values.shape[1] // 4) * 4)  # the others are zero
    return np.arange(values.shape[1]) + np.zeros((len(x), 1), int), values, size


def column(data, name, type):
    if name.strip("`") not in data:
        raise ValueError(f"the data have no column {name}: compute it first, as expressions are not evaluated here")
    return np.asarray(data[name.strip("`")], type)


def text(value):
    """A level in the model's form; None: missing."""
    if value is None or value != value or value == "":
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(value).upper()
    return format(value, ".15g") if isinstance(value, (int, float, np.number)) else str(value)


def times(matrix, rows):
    """The product of a matrix and each row."""
    if "values" in matrix:
        return rows @ dense(matrix).T
    product = np.zeros((len(rows), matrix["rows"]))
    for i, j, value in matrix["entries"]:
        product[:, i] += value * rows[:, j]
    return product


def dense(matrix):
    if "values" in matrix:  # stored column by column
        return np.reshape(matrix["values"], (matrix["cols"], matrix["rows"])).T
    full = np.zeros((matrix["rows"], matrix["cols"]))
    for i, j, value in matrix["entries"]:
        full[i, j] += value
    return full
