"""What the package promises, held against the program that it carries.

The tests run where a wheel is installed: `go test ./cmd/dist` does that. They stay in a folder
of their own, whose name has a space.
"""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import math
import os
import pickle
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import zlib
from pathlib import Path

import dpsgd
import dpsgd._questions
from dpsgd._process import program

GUIDE = Path(__file__).resolve().parents[1] / "README.md"

# A linear layer on the drawn digits: seconds.
SMALL = {
    "data": {"name": "digits"},
    "model": {"layers": ["flatten", {"linear": {"out_features": "classes"}}]},
    "privacy": {"epsilon": 3, "delta": 1e-5, "clip_norm": 0.1},
    "training": {"epochs": 1},
}


# Values of every form, and a folder that is not there.
MISSING = {
    "data.folder": Path("no pictures é 🖼"),
    "data.classes": ["cat", "dog"],
    "privacy.epsilon": 1.5,
    "run.private_diagnostics": True,
    "run.name": "own",
}


def picture(size: int) -> bytes:
    """Write a grey square as PNG (https://www.w3.org/TR/png-3/)."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    lines = zlib.compress((b"\0" + b"\x80" * size) * size)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")
    )


class Folder(unittest.TestCase):
    """A test in an empty working directory."""

    def setUp(self) -> None:
        before = os.getcwd()
        folder = tempfile.TemporaryDirectory(prefix="a folder ")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)


class Questions(unittest.TestCase):
    def test_examples_of_the_docstrings(self) -> None:
        for module in (dpsgd, dpsgd._questions):
            self.assertEqual(doctest.testmod(module).failed, 0, module.__name__)

    def test_answers_agree(self) -> None:
        """Each question is the inverse of another."""
        training = {"examples": 60000, "batch_size": 512}
        sigma = dpsgd.calibrate(**training, epochs=40, epsilon=3, delta=1e-5)
        self.assertAlmostEqual(
            dpsgd.epsilon(**training, epochs=40, noise_multiplier=sigma, delta=1e-5), 3, places=6
        )
        self.assertAlmostEqual(
            dpsgd.delta(**training, epochs=40, noise_multiplier=sigma, epsilon=3), 1e-5, places=9
        )
        self.assertEqual(
            dpsgd.steps(**training, noise_multiplier=sigma, epsilon=3, delta=1e-5), 4688
        )
        chance = dpsgd.calibrate(
            solve="sampling-probability", noise_multiplier=sigma, steps=4688, epsilon=3, delta=1e-5
        )
        self.assertAlmostEqual(chance, 512 / 60000, places=6)

    def test_other_views(self) -> None:
        planned = {
            "sampling_probability": 0.01,
            "noise_multiplier": 1.1,
            "steps": 1000,
            "delta": 1e-5,
        }
        least = dpsgd.epsilon(**planned)
        self.assertGreater(dpsgd.epsilon(**planned, accountant="rdp"), least)
        self.assertGreater(dpsgd.epsilon(**planned, relation="replace-one"), least)
        self.assertGreater(dpsgd.epsilon(**planned, group_size=2), least)

    def test_many_at_once(self) -> None:
        questions = [
            {
                "phases": [{"sampling_probability": 0.01, "noise_multiplier": 1, "steps": 100 + i}],
                "delta": 1e-5,
                "id": i,
            }
            for i in range(200)
        ]
        answers = dpsgd.ask("epsilon", [*questions, {"nonsense": 1}])
        self.assertEqual([a["id"] for a in answers[:-1]], list(range(200)))
        self.assertTrue(all(0 < a["lower"] <= a["epsilon"] for a in answers[:-1]))
        self.assertIn("nonsense", answers[-1]["error"])
        self.assertEqual(dpsgd.ask("epsilon", []), [])

    def test_error_is_the_message_of_the_program(self) -> None:
        with self.assertRaises(dpsgd.Error) as caught:
            dpsgd.epsilon(examples=100, batch_size=10, steps=10, noise_multiplier=1, delta=2)
        self.assertEqual(
            str(caught.exception), "found --delta 2, expected a number above 0 and below 1"
        )
        self.assertEqual(caught.exception.exit_code, 2)
        copied = pickle.loads(pickle.dumps(caught.exception))  # as from a process of a pool
        self.assertEqual((str(copied), copied.exit_code), (str(caught.exception), 2))


class Runs(Folder):
    def test_run_and_what_is_asked_about_it(self) -> None:
        told: list[str] = []
        threads = set()

        def progress(line: str) -> None:
            told.append(line)
            threads.add(threading.current_thread())

        result = dpsgd.train(
            SMALL,
            set={"privacy.epsilon": 2, "run.name": "small"},
            runs_dir="my runs",
            progress=progress,
        )
        self.assertEqual(result.status, "done")
        self.assertEqual(result.run, Path("my runs", "small"))
        self.assertTrue(0 < result.epsilon <= 2 and result.delta == 1e-5)
        self.assertTrue(result.model.is_file() and (result.run / "privacy.md").is_file())
        self.assertTrue(any("20,000 training examples" in line for line in told), told)
        self.assertEqual(threads, {threading.main_thread()})
        measured = dpsgd.evaluate(result.run)
        self.assertEqual(measured.test_accuracy, result.test_accuracy)
        self.assertEqual(measured.test_examples, 2000)
        self.assertEqual(dpsgd.epsilon(result.run), result.epsilon)
        self.assertGreater(dpsgd.steps(result.run, epsilon=5), 0)

    def test_without_noise_on_gradients(self) -> None:
        bare = dpsgd.train(SMALL, set={"privacy.none": True}, progress=None)
        self.assertEqual((bare.epsilon, bare.delta, bare.noise_multiplier), (math.inf, 1.0, 0.0))
        labels = dpsgd.train(SMALL, set={"privacy.unit": "label"}, progress=None)
        self.assertAlmostEqual(labels.epsilon, 3, delta=0.01)
        self.assertEqual(labels.accountant, "exact")

    def test_errors(self) -> None:
        for call, code, message in (
            (
                lambda: dpsgd.train({**SMALL, "privacy": {"epsilon": -1}}, progress=None),
                2,
                "privacy.epsilon",
            ),
            (lambda: dpsgd.train("nosuch", progress=None), 2, "nosuch"),
            (lambda: dpsgd.train("-h", progress=None), 2, "-h"),
            (lambda: dpsgd.train("mnist-cnn", data_dir="empty", progress=None), 3, "empty"),
            (lambda: dpsgd.train("own-pictures", set=MISSING, progress=None), 3, "no pictures é 🖼"),
            (lambda: dpsgd.resume("nowhere", progress=None), 4, "nowhere"),
            (lambda: dpsgd.evaluate("nowhere"), 4, "nowhere"),
            (lambda: dpsgd.epsilon("--json"), 4, "--json"),
            (lambda: dpsgd.evaluate("no\udcff"), 4, "no\ufffd"),  # no UTF-8
            (lambda: dpsgd.command("nosuch"), 2, "nosuch"),
        ):
            with self.subTest(message), self.assertRaises(dpsgd.Error) as caught:
                call()
            self.assertEqual(caught.exception.exit_code, code)
            self.assertIn(message, str(caught.exception))
            self.assertFalse(str(caught.exception).startswith("train:"))

    def test_predictions(self) -> None:
        if subprocess.run([program(), "help", "predict"], capture_output=True).returncode != 0:
            self.skipTest("the program has no command predict")
        result = dpsgd.train(SMALL, progress=None)
        Path("a picture.png").write_bytes(picture(28))
        Path("folder").mkdir()
        Path("folder", "small.png").write_bytes(picture(7))
        first, second = dpsgd.predict(result.run, "a picture.png", "folder", top=0)
        self.assertEqual(first.file, "a picture.png")
        self.assertEqual(len(second.classes), 10)
        self.assertAlmostEqual(sum(first.classes.values()), 1, places=6)
        self.assertEqual(next(iter(first.classes)), first.class_name)
        self.assertEqual(first.classes[first.class_name], first.probability)
        with self.assertRaisesRegex(dpsgd.Error, "nosuch.png"):
            dpsgd.predict(result.run, "nosuch.png")

    def test_numbers(self) -> None:
        Path("table").mkdir()
        for part in ("train", "test"):
            Path("table", f"{part}.csv").write_text("x,pay\n" + "1,2\n" * 20)
        config = {
            **SMALL,
            "data": {"table": "table", "columns": ["x"], "label": "pay", "bounds": [0, 4]},
            "training": {"loss": "squared", "batch_size": 10, "steps": 1},
        }
        result = dpsgd.train(config, progress=None)
        (first, *_) = dpsgd.predict(result.run, "table/test.csv")
        self.assertTrue(0 <= first.number <= 4 and math.isnan(result.test_accuracy))
        self.assertAlmostEqual(result.details["test_error"], abs(first.number - 2), places=6)

    @unittest.skipIf(os.name == "nt", "signals")
    def test_interrupt_saves_and_stops(self) -> None:
        """The program hears one interrupt, also when all processes of a group do, as by ctrl-C."""
        script = (
            "import dpsgd, functools\n"
            "progress = functools.partial(print, flush=True)\n"
            f"dpsgd.train({SMALL!r}, set={{'training.epochs': 1000}}, progress=progress)"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout and process.stderr
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("step "):
                    os.killpg(process.pid, signal.SIGINT)
                    break
            rest, errors = process.communicate()
        self.assertIn("KeyboardInterrupt", errors)
        found = re.search(
            r"stopped and saved after step (\d+); go on with `train resume (.*?)`", rest
        )
        assert found, (lines, rest)
        made = dpsgd.command("epsilon", found[2])["made"]  # of all that was planned
        self.assertEqual(made["releases"], int(found[1]))

    def test_error_of_the_callback_stops_the_run(self) -> None:
        def wrong(line: str) -> None:
            if line.startswith("budget"):
                raise ValueError("wrong")

        with self.assertRaisesRegex(ValueError, "wrong"):
            dpsgd.train(SMALL, set={"training.epochs": 1000}, progress=wrong)


class Package(Folder):
    def test_page_about_python(self) -> None:
        page = GUIDE.read_text(encoding="utf-8")
        names: dict[str, object] = {}
        snippets = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(snippets), 5)
        with contextlib.redirect_stdout(io.StringIO()):
            for snippet in snippets:
                exec(compile(snippet, "python/README.md", "exec"), names)

    def test_command(self) -> None:
        run = [sys.executable, "-m", "dpsgd"]
        self.assertIn(
            "train ",
            subprocess.run([*run, "version"], capture_output=True, text=True, check=True).stdout,
        )
        self.assertEqual(subprocess.run([*run, "nosuch"], capture_output=True).returncode, 2)

    def test_everything_public_is_documented(self) -> None:
        for name in dpsgd.__all__:
            self.assertTrue(inspect.getdoc(getattr(dpsgd, name)), name)


if __name__ == "__main__":
    unittest.main()
