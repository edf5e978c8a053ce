"""Folders of pictures that nobody chose a constant by, for `train run own-pictures`:

    python bench/unseen.py OUT CIFAR-10-BINARY.tar.gz

Characters of two alphabets in the system's fonts (fc-list, DejaVu and Liberation; a quarter of the fonts tests), 28x28, moved,
turned and noisy; and photographs of CIFAR-10: 300 of horse, truck and deer, 900 of five kinds. Needs numpy and Pillow 13.
"""
import os, random, subprocess, sys, tarfile

import numpy
from PIL import Image, ImageDraw, ImageFont

out, archive = sys.argv[1:]


def character(c, font, r):
    size = r.uniform(17, 25)
    picture, font = Image.new("L", (56, 56), 0), ImageFont.truetype(font, int(2 * size))
    draw = ImageDraw.Draw(picture)
    left, top, right, bottom = draw.textbbox((0, 0), c, font=font)
    at = (56 - right + left) / 2 - left + r.uniform(-5, 5), (56 - bottom + top) / 2 - top + r.uniform(-5, 5)
    draw.text(at, c, fill=int(r.uniform(150, 255)), font=font)
    picture = picture.rotate(r.uniform(-20, 20), resample=Image.BICUBIC).resize((28, 28), Image.BOX)
    r.gauss(0, 1)
    noise = numpy.random.default_rng(r.getrandbits(32)).normal(0, 20, (28, 28))
    return Image.fromarray((numpy.asarray(picture) + noise).clip(0, 255).astype(numpy.uint8))


def folder(*names):
    path = os.path.join(out, *names)
    os.makedirs(path, exist_ok=True)
    return path


listed = subprocess.run(["fc-list", ":lang=el"], capture_output=True, text=True, check=True).stdout.split("\n")
fonts = sorted({line.split(":")[0] for line in listed if line and "Math" not in line})
r = random.Random(20261126)
random.Random(7).shuffle(fonts)
quarter = len(fonts) // 4
for name, characters in {"greek": "αβγδθλμξπφψω", "cyrillic": "бджзлфцчшщюя"}.items():
    for part, chosen, n in (("train", fonts[quarter:], 200), ("test", fonts[:quarter], 50)):
        for i, c in enumerate(characters):
            path = folder(name, part, f"{name[0]}{i:02d}")
            for k in range(n):
                character(c, r.choice(chosen), r).save(f"{path}/{k}.png")

kinds = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
with tarfile.open(archive) as t:
    batch = lambda name: numpy.frombuffer(t.extractfile(f"cifar-10-batches-bin/{name}").read(), numpy.uint8).reshape(-1, 3073)
    parts = {"train": batch("data_batch_5.bin"), "test": batch("data_batch_1.bin")}
for name, classes, n in (("horse-truck-deer", (7, 9, 4), 300), ("five", (2, 4, 6, 7, 9), 900)):
    for part, records in parts.items():
        for c in classes:
            path = folder(name, part, kinds[c])
            for i, record in enumerate(records[records[:, 0] == c][: n if part == "train" else 300]):
                Image.fromarray(record[1:].reshape(3, 32, 32).transpose(1, 2, 0)).save(f"{path}/{i}.png")
