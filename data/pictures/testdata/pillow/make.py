"""Writes pictures of every format, mode and packing that is read, with the pixels that Pillow finds in them.

    python3 -m venv venv && venv/bin/pip install pillow numpy
    venv/bin/python make.py FOLDER          # the pictures of this folder: Pillow 13.0.0, numpy 2.4.6
    venv/bin/python make.py FOLDER 300      # as many of random sizes; a third argument is their seed

cases.jsonl has a line for each picture: its size, its pixels as 8-bit red, green and blue over white in base64, turned as
its orientation says, and by how much a pixel may differ.
"""

import base64
import io
import json
import pathlib
import random
import struct
import sys
import zlib

import numpy
from PIL import Image, ImageOps

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
cases = open(folder / "cases.jsonl", "w")

# Of a packing with loss, decoders round differently, and the colours of pixels that share one differ.
LOSS = {"grey": 3, "444": 4, "420": 24}


def smooth(rng, height, width, channels):
    """Waves, which a packing with loss keeps, from 0 to 255, whatever the channel."""
    y, x = numpy.mgrid[:height, :width] / 32
    waves = [numpy.sin(rng.uniform(1, 2) * x + rng.uniform(1, 2) * y + rng.uniform(0, 6)) for _ in range(channels)]
    return numpy.stack([numpy.round(127.5 + 127.5 * w) for w in waves], -1).astype("uint8")


def note(name, content, difference=0, refused=""):
    (folder / name).write_bytes(content)
    about = {"file": name, "difference": difference, "refused": refused}
    if not refused:
        shown = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
        if shown.mode.startswith("I;16"):  # the upper half of 16 bits, where Pillow cuts off
            shown = Image.fromarray((numpy.asarray(shown).astype("uint32") * 255 // 65535).astype("uint8"))
            about["difference"] = max(difference, 1)
        shown = shown.convert("RGBA")
        shown = Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown).convert("RGB")
        about |= {"width": shown.width, "height": shown.height, "pixels": base64.b64encode(zlib.compress(shown.tobytes(), 9)).decode()}
    cases.write(json.dumps(about) + "\n")


def save(name, picture, difference=0, refused="", **options):
    content = io.BytesIO()
    extension = name.rsplit(".", 1)[1]
    picture.save(content, {"jpg": "JPEG", "tif": "TIFF"}.get(extension, extension.upper()), **options)
    note(name, content.getvalue(), difference, refused)


def png(width, height, depth, colour, rows, palette=b"", transparent=b"", interlace=0):
    """A PNG of a depth that Pillow does not write, its rows not filtered."""
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace))
    out += chunk(b"PLTE", palette) if palette else b""
    out += chunk(b"tRNS", transparent) if transparent else b""
    return out + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")


def adam7(samples, depth):
    """The rows of the seven passes of an interlaced PNG, from samples (height, width, channels) of 8 bits."""
    for y0, x0, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        part = samples[y0::dy, x0::dx]
        if part.size:
            yield from (b"\0" + row.tobytes() for row in part)


def packed(samples, depth):
    """Rows of samples of 1, 2, 4 or 8 bits, (height, width)."""
    bits = (samples[..., None] >> numpy.arange(depth - 1, -1, -1)) & 1
    return [b"\0" + numpy.packbits(row.ravel()).tobytes() for row in bits.astype("uint8")]


def tiff(tags, *strips):
    """A TIFF with tags of one or more numbers of 16 bits, and strips in one directory."""
    entries, behind = [], b"".join(strips)
    starts = [8 + sum(map(len, strips[:i])) for i in range(len(strips))]
    body = behind + b"\0" * (len(behind) % 2)
    lists = b""
    for tag, values in sorted((tags | {273: starts, 279: list(map(len, strips))}).items()):
        kind = "I" if tag in (273, 279) else "H"
        held = struct.pack(f"<{len(values)}{kind}", *values)
        if len(held) > 4:
            held, lists = struct.pack("<I", 8 + len(body) + len(lists)), lists + held + b"\0" * (len(held) % 2)
        entries.append(struct.pack("<HHI", tag, 4 if kind == "I" else 3, len(values)) + held.ljust(4, b"\0"))
    directory = 8 + len(body) + len(lists)
    return b"II*\0" + struct.pack("<I", directory) + body + lists + struct.pack("<H", len(entries)) + b"".join(entries) + b"\0" * 4


def bmp(samples, depth, palette):
    """A BMP of 1, 4 or 8 bits, its rows from below."""
    rows = [row[1:] + b"\0" * (-len(row[1:]) % 4) for row in packed(samples, depth)][::-1]
    begin = 54 + len(palette)
    head = struct.pack("<2sIHHI", b"BM", begin + sum(map(len, rows)), 0, 0, begin)
    return head + struct.pack("<IiiHHIIiiII", 40, samples.shape[1], samples.shape[0], 1, depth, 0, 0, 0, 0, 0, 0) + palette + b"".join(rows)


def write_set(rng, height, width, prefix=""):
    wave = lambda channels: smooth(rng, height, width, channels)
    grey, colour, alpha = Image.fromarray(wave(1)[..., 0]), Image.fromarray(wave(3)), Image.fromarray(wave(4))
    both = Image.fromarray(wave(2), "LA")
    few = colour.quantize(7)
    many = colour.quantize(200)
    two = Image.fromarray(rng.integers(0, 2, (height, width)).astype(bool))
    wide = Image.fromarray(rng.integers(0, 65536, (height, width)).astype("uint16"))
    p = prefix

    for name, picture in {"1": two, "L": grey, "LA": both, "P": many, "P4": few, "RGB": colour, "RGBA": alpha, "I16": wide}.items():
        save(f"{p}png-{name}.png", picture, 1 if "A" in name else 0)
    save(p + "png-transparent-index.png", many, transparency=3)
    save(p + "png-transparent-indices.png", many, 1, transparency=bytes(rng.integers(0, 256, 200).astype("uint8")))
    save(p + "png-transparent-colour.png", colour, transparency=colour.getpixel((0, 0)))
    save(p + "png-transparent-grey.png", grey, transparency=grey.getpixel((0, 0)))
    for depth in (1, 2, 4):
        samples = rng.integers(0, 2**depth, (height, width))
        note(f"{p}png-grey-{depth}-bits.png", png(width, height, depth, 0, packed(samples, depth)))
        note(f"{p}png-palette-{depth}-bits.png", png(width, height, depth, 3, packed(samples, depth), bytes(rng.integers(0, 256, 3 * 2**depth).astype("uint8")), b"\x00\x80"), 1)
    deep = rng.integers(0, 65536, (height, width, 4)).astype(">u2")
    for kind, channels in ((2, 3), (6, 4), (4, 2)):
        rows = [b"\0" + row.tobytes() for row in deep[..., :channels]]
        note(f"{p}png-16-bits-{channels}-channels.png", png(width, height, 16, kind, rows), 2)
    note(p + "png-interlaced-RGB.png", png(width, height, 8, 2, adam7(numpy.asarray(colour), 8), interlace=1))
    note(p + "png-interlaced-L.png", png(width, height, 8, 0, adam7(numpy.asarray(grey), 8), interlace=1))

    save(p + "jpeg-grey.jpg", grey, LOSS["grey"], quality=90)
    for subsampling, difference in {"4:4:4": LOSS["444"], "4:2:2": LOSS["420"], "4:2:0": LOSS["420"]}.items():
        for progressive in (False, True):
            name = f"{p}jpeg-{subsampling.replace(':', '')}{'-progressive' * progressive}.jpg"
            save(name, colour, difference, quality=92, subsampling=subsampling, progressive=progressive)
    save(p + "jpeg-cmyk.jpg", Image.fromarray(wave(4), "CMYK"), LOSS["420"], quality=92)

    save(p + "webp-lossy.webp", colour, LOSS["420"], quality=95)
    save(p + "webp-lossy-grey.webp", grey, 1, quality=95)
    save(p + "webp-lossy-alpha.webp", alpha, LOSS["420"], quality=95, exact=True)
    save(p + "webp-lossless.webp", colour, lossless=True)
    save(p + "webp-lossless-alpha.webp", alpha, 1, lossless=True, exact=True)

    for name, picture in {"1": two, "L": grey, "P": many, "RGB": colour, "RGBA": alpha}.items():
        save(f"{p}bmp-{name}.bmp", picture, 1)

    for depth in (1, 4, 8):
        palette = rng.integers(0, 256, (2**depth, 4)).astype("uint8")
        palette[:, 3] = 0
        note(f"{p}bmp-{depth}-bits.bmp", bmp(rng.integers(0, 2**depth, (height, width)), depth, palette.tobytes()))

    save(p + "gif-P.gif", many)
    save(p + "gif-L.gif", grey)
    save(p + "gif-transparent.gif", many, transparency=3)
    save(p + "gif-animated.gif", many, save_all=True, append_images=[few, many.transpose(Image.Transpose.ROTATE_180)], duration=100)
    save(p + "gif-interlaced.gif", few, interlace=1)
    content = io.BytesIO()
    many.save(content, "GIF")
    larger = struct.pack("<HH", width + 3, height + 2)  # the page, of which the picture fills the upper left part
    note(p + "gif-smaller-than-its-page.gif", content.getvalue()[:6] + larger + content.getvalue()[10:], refused="expected one that fills it")

    for name, picture in {"1": two, "L": grey, "LA": both, "P": many, "RGB": colour, "RGBA": alpha, "CMYK": Image.fromarray(wave(4), "CMYK"), "I16": wide}.items():
        for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"):
            refused = "tiff: unsupported" if name == "CMYK" or name == "LA" else ""
            save(f"{p}tiff-{name}-{compression}.tif", picture, 1 if "A" in name else 0, refused, compression=compression)
    save(p + "tiff-predictor.tif", colour, compression="tiff_lzw", tiffinfo={317: 2})
    for compression in ("group3", "group4"):
        for white in (0, 1):
            save(f"{p}tiff-1-{compression}-{['white', 'black'][white]}-is-zero.tif", two, compression=compression, tiffinfo={262: white})
    for options in (1, 4, 5):  # two dimensions, ends of lines at whole bytes
        save(f"{p}tiff-1-group3-options-{options}.tif", two, 0, "packed with Group 3 and options, expected", compression="group3", tiffinfo={292: options})
    planes = [wave(1).tobytes() for _ in range(3)]
    rgb = {256: [width], 257: [height], 258: [8, 8, 8], 259: [1], 262: [2], 277: [3], 278: [height]}
    note(p + "tiff-RGB-by-hand.tif", tiff(rgb, wave(3).tobytes()))
    note(p + "tiff-RGB-planes.tif", tiff(rgb | {284: [2]}, *planes), refused="in planes")
    one_bit = {256: [width], 257: [height], 258: [1], 259: [1], 262: [1], 277: [1], 278: [height]}
    rows = b"".join(row[1:] for row in packed(rng.integers(0, 2, (height, width)), 1))
    note(p + "tiff-1-by-hand.tif", tiff(one_bit, rows))
    note(p + "tiff-1-filled-from-below.tif", tiff(one_bit | {266: [2]}, rows), refused="lowest bit")
    save(p + "tiff-jpeg.tif", colour, refused="tiff: unsupported", compression="jpeg")
    for photometric, picture in ((0, two), (0, grey)):
        save(f"{p}tiff-{picture.mode}-white-is-zero.tif", picture, tiffinfo={262: photometric})

    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[274] = orientation
        save(f"{p}turned-{orientation}.jpg", grey, LOSS["grey"], quality=90, exif=exif)
        if orientation in (3, 6):
            save(f"{p}turned-{orientation}.png", grey, exif=exif)
            save(f"{p}turned-{orientation}.webp", colour, lossless=True, exif=exif)
            save(f"{p}turned-{orientation}.tif", grey, exif=exif)


if len(sys.argv) > 2:
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 32)
    print(f"pictures drawn from the seed {seed}")
    rng = numpy.random.default_rng(seed)
    while (folder / "cases.jsonl").stat().st_size >= 0:
        write_set(rng, int(rng.integers(8, 100)), int(rng.integers(8, 100)), f"{cases.tell()}-")
        cases.flush()
        if len((folder / "cases.jsonl").read_text().splitlines()) >= int(sys.argv[2]):
            break
else:
    write_set(numpy.random.default_rng(24), 11, 14)
