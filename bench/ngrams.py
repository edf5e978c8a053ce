"""Bags of the 1- to 3-grams of texts in FOLDER/train.csv and test.csv, hashed to 1,024 numbers, for `train run own-vectors`:

    python bench/ngrams.py FOLDER OUT CLASS,CLASS
"""
import csv, pathlib, sys, zlib

import numpy

folder, out, classes = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3].split(",")
out.mkdir(parents=True, exist_ok=True)
for part in ("train", "test"):
    with open(folder / f"{part}.csv", newline="", encoding="utf-8") as f:
        rows = list(csv.reader(f))[1:]
    x = numpy.zeros((len(rows), 1024), "float32")
    for i, (text, _) in enumerate(rows):
        text = ("^" + text.lower() + "$").encode()
        for n in (1, 2, 3):
            for at in range(len(text) - n + 1):
                x[i, zlib.crc32(text[at : at + n]) % 1024] += 1
    numpy.save(out / f"{part}.npy", x.astype("float16"))
    numpy.save(out / f"{part}-labels.npy", numpy.array([classes.index(c) for _, c in rows]))
