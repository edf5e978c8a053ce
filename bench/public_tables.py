"""Public tables of scikit-learn's and a drawn one, for `train run`, and what scikit-learn does on them without privacy.

    python bench/public_tables.py FOLDER    # writes FOLDER/NAME/train.csv and test.csv and FOLDER/NAME.yaml: diabetes, cancer, drawn
"""
import csv, json, pathlib, sys, warnings

import numpy
import sklearn
from sklearn import datasets, linear_model, metrics, model_selection, neural_network, preprocessing

warnings.filterwarnings("ignore")  # an MLP that has not converged
folder = pathlib.Path(sys.argv[1])
print("scikit-learn", sklearn.__version__)


def write(name, columns, x, targets, y):
    parts = model_selection.train_test_split(x, y, test_size=0.25, random_state=1)
    (folder / name).mkdir(parents=True, exist_ok=True)
    for part, rows, learnt in (("train", parts[0], parts[2]), ("test", parts[1], parts[3])):
        with open(folder / name / f"{part}.csv", "w", newline="") as f:
            out = csv.writer(f)
            out.writerow(columns + targets)
            out.writerows([*map(float, r), *map(float, numpy.atleast_1d(t))] for r, t in zip(rows, learnt))
    return parts


def configuration(name, columns, learnt, model, loss, delta, noise):
    """Write what `train run` reads: all records in each of 100 steps, a rate that follows from the noise."""
    (folder / f"{name}.yaml").write_text(f"""data: {{table: {json.dumps(str(folder / name))}, columns: {json.dumps(list(map(str, columns)))}, {learnt}}}
model: {{{model}}}
privacy: {{epsilon: 3, delta: {delta}, clip_norm: 0.5}}
optimizer: {{name: momentum, learning_rate: by_noise, parameter_noise: {noise}, momentum: 0.9, schedule: {{name: linear}}}}
training: {{loss: {loss}, sampling: full, steps: 100, physical_batch_size: 64}}
""")


LINEAR = "layers: [flatten, linear: {out_features: classes}]"


def number(name, x, y, columns):
    train, test, a, b = write(name, columns, x, ["y"], y)
    found = linear_model.Ridge(1).fit(train, a).predict(test)
    print(f"{name}: {len(train)} training rows; ridge regression has the mean absolute error {metrics.mean_absolute_error(b, found):.2f}, an MLP of 64 {error(b, train, a, test):.2f}, the mean of the training rows {numpy.abs(b - a.mean()).mean():.2f}")


def error(b, train, a, test):
    net = neural_network.MLPRegressor(hidden_layer_sizes=(64,), activation="tanh", max_iter=300, random_state=1).fit(train, (a - a.mean()) / a.std())
    return metrics.mean_absolute_error(b, net.predict(test) * a.std() + a.mean())


def labels(name, x, y, columns, names):
    train, test, a, b = write(name, columns, x, names, y)
    area = [metrics.roc_auc_score(b[:, i], linear_model.LogisticRegression(max_iter=1000).fit(train, a[:, i]).decision_function(test)) for i in range(y.shape[1])]
    print(f"{name}: {len(train)} training rows; logistic regression has the mean AUROC {numpy.mean(area):.4f}")


d = datasets.load_diabetes()
number("diabetes", d.data / 0.0476, d.target, list(d.feature_names))  # columns of deviation 1
configuration("diabetes", list(d.feature_names), "label: y, bounds: [25, 346]", LINEAR, "squared", "1.0e-4", 0.05)
c = datasets.load_breast_cancer()
x = preprocessing.StandardScaler().fit_transform(c.data)
large = c.data[:, list(c.feature_names).index("mean area")] > 600
kept = [i for i, n in enumerate(c.feature_names) if "area" not in n and "perimeter" not in n]
labels("cancer", x[:, kept], numpy.stack([c.target, large], 1), [c.feature_names[i] for i in kept], ["benign", "large"])
configuration("cancer", [c.feature_names[i] for i in kept], "labels: [benign, large]", LINEAR, "binary", "1.0e-4", 0.1)
draw = numpy.random.default_rng(1)
x = draw.normal(size=(20000, 8))
y = 10 * numpy.sin(x[:, 0]) + 5 * x[:, 1] * x[:, 2] + 3 * x[:, 3] + draw.normal(size=20000)
number("drawn", x, y, [f"x{i}" for i in range(8)])
configuration("drawn", [f"x{i}" for i in range(8)], "label: y, bounds: [-30, 30]", "name: mlp-table", "squared", "1.0e-5", 0.1)
