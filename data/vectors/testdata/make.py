# Writes the files of this folder, with pyarrow 26.0.1 and pandas 3.1.1:
#
#     python3 -m venv venv && venv/bin/pip install pyarrow pandas && venv/bin/python make.py
#
# Good ones hold the vectors (3, 4, 0), (1, -2, 2), (0, 0, 0), (0.5, 0, 0) and the labels 1, 0, 1, 2, or
# the names "no", "yes", "maybe" of these.

import numpy, pandas, pyarrow, pyarrow.parquet

vectors = numpy.array([[3, 4, 0], [1, -2, 2], [0, 0, 0], [0.5, 0, 0]], "float32")
labels = numpy.array([1, 0, 1, 2])
names = ["yes", "no", "yes", "maybe"]


def write(name, columns, **options):
    pyarrow.parquet.write_table(pyarrow.table(columns), name + ".parquet", **options)


def lists(rows, type):
    return pyarrow.array(rows, type=pyarrow.list_(type))


frame = pandas.DataFrame(vectors, columns=["x", "y", "z"])
frame["label"] = labels
frame.to_parquet("columns.parquet", index=False)
frame.to_csv("columns.csv", index=False)

doubles = lists(vectors.astype("float64").tolist(), pyarrow.float64())
write("lists", {"class": names, "embedding": doubles}, row_group_size=3, compression="zstd", data_page_version="2.0")
halves = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.astype("float16").ravel()), 3)
write("halves", {"embedding": halves, "class": pyarrow.array(names).dictionary_encode()}, compression="gzip")
write("unlabelled", {"embedding": doubles}, compression="none", use_dictionary=False)

good = vectors.astype("float64").tolist()
write("ragged", {"embedding": lists([good[0], good[1][:2]], pyarrow.float64()), "label": [0, 1]})
write("empty-list", {"embedding": lists([good[0], []], pyarrow.float64()), "label": [0, 1]})
write("null-list", {"embedding": lists([good[0], None], pyarrow.float64()), "label": [0, 1]})
write("null-in-list", {"embedding": lists([good[0], [1, None, 2]], pyarrow.float64()), "label": [0, 1]})
write("null", {"x": [1.0, None], "label": [0, 1]})
write("nan", {"x": [1.0, float("nan")], "label": [0, 1]})
write("too-large", {"x": [1.0, 1e300], "label": [0, 1]})
write("null-label", {"x": [1.0, 2.0], "label": [0, None]})
write("other-label", {"x": [1.0, 2.0], "label": [0, 3]})
write("other-name", {"x": [1.0, 2.0], "label": ["no", "never"]})
write("float-label", {"x": [1.0, 2.0], "label": [0.0, 1.0]})
write("list-label", {"x": [1.0, 2.0], "label": lists([[0], [1]], pyarrow.int64())})
write("text", {"x": ["1", "2"], "label": [0, 1]})
write("two-lists", {"a": doubles, "b": doubles, "label": labels})
write("structure", {"a": [{"x": 1.0, "y": 2.0}], "label": [0]})
write("no-rows", {"x": pyarrow.array([], "float32"), "label": pyarrow.array([], "int64")})
write("no-columns", {"label": [0, 1]})
