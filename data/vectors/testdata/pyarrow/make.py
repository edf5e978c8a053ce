"""Writes Parquet, NumPy and safetensors files in every type, packing and layout, with what they hold.

    python3 -m venv venv && venv/bin/pip install numpy pyarrow safetensors ml_dtypes duckdb
    venv/bin/python make.py FOLDER          # the files of this folder: numpy 2.4.6, pyarrow 26.0.1, safetensors 0.8.0, ml_dtypes 0.6.0, duckdb 2.0.1
    venv/bin/python make.py FOLDER 300      # as many files of random sizes, types and packings; a third argument is their seed

cases.jsonl has a line for each file: the vectors as float32 and the labels in base64, or the words in which the file is
refused.
"""

import base64
import decimal
import json
import pathlib
import random
import sys

import ml_dtypes
import numpy
import pyarrow
import pyarrow.parquet
import safetensors.numpy

CLASSES = ["no", "yes", "maybe"]
CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES = ["float16", "float32", "float64", "bool_"] + INTEGERS
# parquet-go v0.32.0, which the trainer reads Parquet through, reads wrong values there.
REFUSED_CODEC = "packed with LZ4_RAW, expected one of"

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
cases = open(folder / "cases.jsonl", "w")


def case(name, file, vectors=None, labels=None, refused="", label="", width=0, may=""):
    """Notes what a reader has to find in a file, or how it has to refuse it."""
    about = {"name": name, "file": file, "label": label, "width": width, "refused": refused, "may": may}
    if not refused:
        rounded = numpy.asarray(vectors).astype("<f4")
        about |= {"width": rounded.shape[1], "vectors": base64.b64encode(rounded.tobytes()).decode()}
        about["labels"] = base64.b64encode(bytes(labels)).decode()
    cases.write(json.dumps(about) + "\n")


def numbers(rng, type, shape):
    if type == "bool_":
        return rng.integers(0, 2, shape).astype(bool)
    if type in INTEGERS:
        i = numpy.iinfo(type)
        return rng.integers(i.min, i.max, shape, type, endpoint=True)
    return rng.standard_normal(shape).astype(type)


def parquet(name, columns, vectors, labels, refused="", label="label", fields=None, **options):
    table = pyarrow.table(columns, schema=fields and pyarrow.schema(fields))
    if options.get("compression") == "lz4":
        refused = REFUSED_CODEC
    elif any(c.type in (pyarrow.bool_(), pyarrow.list_(pyarrow.bool_())) or str(c.type).startswith("fixed_size_list<item: bool") for c in table.columns):
        refused = "holds BOOLEAN, expected "
    pyarrow.parquet.write_table(table, folder / (name + ".parquet"), **options)
    width = numpy.asarray(vectors).shape[1] if vectors is not None else 1
    may = "holds no value" if options.get("data_page_version") == "2.0" and "v" in columns else ""  # pyarrow writes empty pages at times
    case(name, name + ".parquet", vectors, labels, refused, label, width, may)


def columns(x, labels):
    return {f"x{j}": x[:, j] for j in range(x.shape[1])} | {"label": labels}


def lists(x, fixed):
    flat = pyarrow.array(x.ravel())
    if fixed:
        return pyarrow.FixedSizeListArray.from_arrays(flat, x.shape[1])
    return pyarrow.ListArray.from_arrays(numpy.arange(0, x.size + 1, x.shape[1], dtype="int32"), flat)


def arrays(name, x, labels, labels_type):
    """x as .npy and, where the format has its type, as .safetensors, with a tensor that nobody asked for."""
    numpy.save(folder / (name + ".npy"), x)
    numpy.save(folder / (name + "-labels.npy"), labels.astype(labels_type))
    case(name + " npy", name + ".npy", x, labels)


def tensors(name, x, labels, labels_type):
    held = {"ids": numpy.arange(len(x), dtype="uint8"), "features": numpy.ascontiguousarray(x), "labels": labels.astype(labels_type)}
    safetensors.numpy.save_file(held, folder / (name + ".safetensors"))
    case(name + " safetensors", name + ".safetensors", x, labels)


def fixed_set():
    rng = numpy.random.default_rng(24)
    labels = rng.integers(0, 3, 450).astype("uint8")
    x = numbers(rng, "float32", (450, 1))
    for codec in CODECS:  # 450 rows: parquet-go v0.32.0 reads zeros there with lz4
        parquet("codec-" + codec, columns(x, labels.astype("int8")), x, labels, compression=codec)

    few, labels = 5, numpy.array([1, 0, 2, 1, 0], "uint8")
    names = [CLASSES[i] for i in labels]
    for type in TYPES:
        x = numbers(rng, type, (few, 2))
        parquet("columns-" + type, columns(x, pyarrow.array(names)), x, labels, data_page_version="2.0", version="1.0" if type != "float16" else "2.6")
        parquet("lists-" + type, {"label": names, "v": lists(x, type[0] == "i")}, x, labels, compression="zstd", use_dictionary=False)
        arrays("array-" + type, numpy.asarray(x, dtype=numpy.dtype(type).newbyteorder(">")), labels, ">i2")
        arrays("fortran-" + type, numpy.asfortranarray(x), labels, "uint32")
        tensors("tensors-" + type, x, labels, "int64")
    tensors("tensors-bfloat16", numbers(rng, "float32", (few, 2)).astype(ml_dtypes.bfloat16), labels, "int8")

    x = numbers(rng, "float64", (few, 1))
    for type in INTEGERS:
        parquet("label-" + type, columns(x, labels.astype(type)), x, labels)
    wrong = {
        "decimal": (pyarrow.array([decimal.Decimal("0.01")] * few, pyarrow.decimal128(5, 2)), "DECIMAL"),
        "timestamp": (pyarrow.array([1] * few, pyarrow.timestamp("us")), "TIMESTAMP"),
        "date": (pyarrow.array([1] * few, pyarrow.date32()), "DATE"),
        "time": (pyarrow.array([1] * few, pyarrow.time32("ms")), "TIME"),
        "null": (pyarrow.nulls(few), "NULL"),
        "float": (pyarrow.array([1.0] * few), "DOUBLE"),
        "list": (pyarrow.array([[1]] * few), "lists"),
        "structure": (pyarrow.array([{"a": 1, "b": 1}] * few), "2 fields inside"),
        "map": (pyarrow.array([[("a", 1)]] * few, pyarrow.map_(pyarrow.string(), pyarrow.int64())), "2 fields inside"),
    }
    for name, (column, says) in wrong.items():
        parquet("label-" + name, {"x": x[:, 0], "label": column}, None, None, says)
        if name not in ("float", "list"):
            parquet("number-" + name, {"x": column, "label": labels}, None, None, says)
    parquet("label-bool", columns(x, labels > 1), x, [0, 0, 1, 0, 0])
    parquet("label-categories", columns(x, pyarrow.array(names).dictionary_encode()), x, labels)
    parquet("label-large", columns(x, pyarrow.array(names, pyarrow.large_string())), x, labels)
    parquet("label-binary", columns(x, pyarrow.array([n.encode() for n in names])), x, labels)
    parquet("number-text", columns(numpy.array(["1"] * few)[:, None], labels), None, None, "STRING")
    parquet("number-structure-of-one", {"x": pyarrow.array([{"a": v} for v in x[:, 0]]), "label": labels}, x, labels)
    nulls = pyarrow.array([1.0, None, 2.0, 3.0, 4.0])
    parquet("number-with-null", {"x": nulls, "label": labels}, None, None, 'row 1, column "x": found no value')
    required = [pyarrow.field("x0", pyarrow.float64(), False), pyarrow.field("label", pyarrow.uint8(), False)]
    parquet("required", columns(x, labels), x, labels, fields=required)
    x = numbers(rng, "float32", (few, 6))
    nested = pyarrow.array(x.reshape(few, 2, 3).tolist(), pyarrow.list_(pyarrow.list_(pyarrow.float32())))
    parquet("lists-of-lists", {"v": nested, "label": labels}, x, labels)

    table = pyarrow.table(columns(x, labels))
    with pyarrow.parquet.ParquetWriter(folder / "empty-groups.parquet", table.schema) as writer:
        for rows in (0, 2), (2, 0), (2, 3), (5, 0):
            writer.write_table(table.slice(*rows))
    case("groups without rows", "empty-groups.parquet", x, labels, label="label")
    twice = [pyarrow.field("x", pyarrow.float64()), required[1], required[1]]
    parquet("label-twice", [[1.0], [0], [1]], None, None, 'found column "label" twice', fields=twice)
    import duckdb  # random files need none

    duckdb.sql(f"COPY (SELECT NULL::INT AS none, unnest([-2147483647::INT, 5, 2147483647, 7]) AS x, 0 AS label) TO '{folder}/duckdb.parquet' (PARQUET_VERSION V2)")
    case("differences of 33 bits", "duckdb.parquet", refused="found the column x of large integers in DuckDB's second version", label="label", width=1)

    large = numpy.array([[1.0], [1e39]])
    parquet("too-large", columns(large, labels[:2]), None, None, 'row 1, column "x0": found a number that is not finite as a 32-bit one')
    for name, x in {"large": large, "infinite": numpy.array([[1], [numpy.inf]], "float16"), "nan": numpy.array([[1], [numpy.nan]], ">f8")}.items():
        numpy.save(folder / f"array-{name}.npy", x)
        numpy.save(folder / f"array-{name}-labels.npy", labels[:2])
        case(name, f"array-{name}.npy", refused="vector 1 is not finite as 32-bit numbers", width=1)


def random_set(count, seed):
    print(f"numbers drawn from the seed {seed}")
    rng = numpy.random.default_rng(seed)
    pick = lambda choices: choices[rng.integers(len(choices))]
    for i in range(count):
        n, width, type = int(2 ** rng.uniform(0, 14)), int(rng.integers(1, 9)), pick(TYPES)
        x, labels = numbers(rng, type, (n, width)), rng.integers(0, 3, n).astype("uint8")
        if rng.integers(2):  # values that come again, which dictionaries are for
            x = x[rng.integers(0, min(n, 50), n)]
        if i % 4 == 3:
            order = pick("<>")
            shown = numpy.asarray(x, x.dtype.newbyteorder(order) if x.itemsize > 1 else x.dtype)
            arrays(f"{i}-array", pick([numpy.ascontiguousarray, numpy.asfortranarray])(shown), labels, order + pick(["i2", "u4", "i8"]))
            if n < 1000:
                tensors(f"{i}-tensors", x, labels, pick(INTEGERS))
            continue
        dictionary = bool(rng.integers(2))
        options = {
            "compression": pick(CODECS), "version": pick(["2.4", "2.6"] if type == "float16" else ["1.0", "2.4", "2.6"]),
            "data_page_version": pick(["1.0", "2.0"]), "row_group_size": int(2 ** rng.uniform(3, 15)), "use_dictionary": dictionary,
            "data_page_size": int(2 ** rng.uniform(6, 20)), "write_batch_size": int(2 ** rng.uniform(3, 11)),
            "dictionary_pagesize_limit": int(2 ** rng.uniform(6, 20)), "write_page_index": bool(rng.integers(2)),
            "write_page_checksum": bool(rng.integers(2)),
        }
        shown = pick([labels.astype(pick(INTEGERS)), pyarrow.array([CLASSES[i] for i in labels]), pyarrow.array([CLASSES[i] for i in labels]).dictionary_encode()])
        held = columns(x, shown) if rng.integers(2) else {"v": lists(x, bool(rng.integers(2))), "label": shown}
        fields = None
        if rng.integers(2):  # whether a value may be missing
            fields = [pyarrow.field(name, pyarrow.array(column).type if not isinstance(column, pyarrow.Array) else column.type, False) for name, column in held.items()]
        if not dictionary and "x0" in held and rng.integers(2):
            encoding = "BYTE_STREAM_SPLIT" if type.startswith("float") else "PLAIN" if type == "bool_" else "DELTA_BINARY_PACKED"
            options["column_encoding"] = {name: encoding for name in held if name != "label"}
        parquet(f"{i}-{type}-{options['compression']}", held, x, labels, fields=fields, **options)


if len(sys.argv) > 2:
    random_set(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 32))
else:
    fixed_set()
