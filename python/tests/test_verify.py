"""The second reader, held against runs of several kinds and against statements that were changed.

It needs dp_accounting, and says so where it skips.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
import shutil
import tempfile
import unittest
from pathlib import Path

import dpsgd
from dpsgd.verify import claim, epsilon, main, read_chain, verify

SMALL = {"model.layers": ["flatten", {"linear": {"out_features": "classes"}}]}

GAUSSIAN = {"gaussian": {"noise_multiplier": 1.0}}
CHOICE = {"approx_dp": {"epsilon": 0, "delta": 0}}


class Claims(unittest.TestCase):
    """What a statement is about follows from ledger and plan."""

    def test_claims(self) -> None:
        for released, planned, want in (
            ([(GAUSSIAN, 5)], None, ([(GAUSSIAN, 5)], 0)),
            ([(GAUSSIAN, 5)], [(GAUSSIAN, 5)], ([(GAUSSIAN, 5)], 0)),
            ([(GAUSSIAN, 5)], [(GAUSSIAN, 9)], ([(GAUSSIAN, 9)], 0)),  # stopped
            ([(GAUSSIAN, 8)], [(GAUSSIAN, 5)], ([(GAUSSIAN, 8), (GAUSSIAN, 1)], 3)),  # repeated: 3 more, of a list 1, 2, 4
            ([(GAUSSIAN, 39), (CHOICE, 2), (GAUSSIAN, 17)], [(GAUSSIAN, 39)], ([(GAUSSIAN, 39), (GAUSSIAN, 17)], 2)),  # extended
        ):
            entries, halvings, _ = claim(released, planned)
            self.assertEqual((entries, halvings), want)

    def test_no_run(self) -> None:
        """A folder that is no run is said to be none."""
        verdict = verify("nope")
        self.assertIsNone(verdict.holds)
        self.assertIn("found no privacy.json, expected the folder of a run", str(verdict))


@unittest.skipUnless(importlib.util.find_spec("dp_accounting"), "found no dp_accounting, which recomputes ε: pip install dp-accounting")
class Runs(unittest.TestCase):
    """Statements of runs hold; those that say less do not."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.runs = Path(cls.folder.name, "runs")
        for name, more in {
            "plain": {"training.epochs": 1},
            "schedule": {"training.epochs": 1, "privacy.noise_schedule": "linear", "privacy.noise_final_factor": 0.5},
            "budget": {"training.epochs": 1, "privacy.noise_multiplier": 1, "privacy.epsilon": 1},
            "full": {"training.sampling": "full", "training.steps": 3},
            "adaptive": {"training.epochs": 1, "privacy.clipping": "adaptive"},
        }.items():
            dpsgd.train("digits", set={**SMALL, **more, "run.name": name}, runs_dir=cls.runs, progress=None)
        dpsgd.train("label-digits", set={**SMALL, "training.epochs": 1, "run.name": "label"}, runs_dir=cls.runs, progress=None)
        extended = dpsgd.train("digits", set={**SMALL, "training.epochs": 1, "run.name": "extended"}, runs_dir=cls.runs, progress=None).run
        dpsgd.command("extend", extended, "--epsilon", 4)
        dpsgd.resume(extended, progress=None)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def test_statements_hold(self) -> None:
        for run in sorted(path.parent for path in self.runs.glob("*/privacy.json")):
            verdict = verify(run)
            self.assertIs(verdict.holds, True, str(verdict))
            self.assertAlmostEqual(verdict.found / verdict.stated, 1, delta=0.01, msg=str(verdict))
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(main([str(self.runs / "plain")]), 0)
        self.assertIn("plain holds: ε = 3.0000 at δ = 1e-05 is stated", printed.getvalue())

    def test_choices(self) -> None:
        """Choices cost what `exact` finds for accountant.BoundedRange, to what the grid of dp_accounting adds."""
        for width, times, delta, exact in ((0.1, 100, 1e-6, 2.6117732), (1, 3, 1e-5, 2.8487778)):
            self.assertAlmostEqual(epsilon([({"bounded_range": {"range": width}}, times)], delta) / exact, 1, delta=0.003)

    def test_turns(self) -> None:
        """Turns before and behind a choice follow each other, as the door counts them."""
        turn = {"cyclic_sampled": {"blocks": 4, "event": {"poisson_sampled": {"sampling_probability": 0.5, "event": GAUSSIAN}}}}
        self.assertEqual(epsilon([(turn, 30), (turn, 21)], 1e-5), epsilon([(turn, 51)], 1e-5))

    def changed(self, edit) -> Path:
        """Return a copy of the plain run after edit(its folder)."""
        copy = Path(tempfile.mkdtemp(dir=self.folder.name), "runs")
        shutil.copytree(self.runs, copy)
        edit(copy / "plain")
        return copy / "plain"

    def test_less_does_not_hold(self) -> None:
        def statement(**values):
            def edit(run: Path) -> None:
                file = run / "privacy.json"
                file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **values}), encoding="utf-8")

            return edit

        def without_a_step(run: Path, **values) -> None:
            """Leave out the last line, which the ledger of the data has, and make the statement agree with that."""
            file = run / "ledger.jsonl"
            file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
            lines, heads = read_chain(file)
            statement(ledger_entries=len(lines) - 1, ledger_head=heads[-1], **values)(run)

        def other_noise(run: Path) -> None:
            """Write more noise into the ledger, which no hash agrees with."""
            file = run / "ledger.jsonl"
            file.write_bytes(file.read_bytes().replace(b'"noise_multiplier":0', b'"noise_multiplier":9'))

        def of_nothing(entries: int):
            """Make the statement one of no release."""
            return lambda run: statement(ledger_entries=entries, ledger_head=read_chain(run / "ledger.jsonl")[1][entries], epsilon=0.01)(run)

        for edit in (of_nothing(0), of_nothing(-1), statement(epsilon=2.97), statement(epsilon=None), statement(epsilon=10**400), lambda run: (run / "privacy.json").write_text("{"), lambda run: (run / "model.safetensors").write_bytes(b""), statement(epsilon_plain=2), statement(delta=1e-6), statement(ledger_head=hashlib.sha256(b"").hexdigest()[:32]), without_a_step, other_noise):
            verdict = verify(self.changed(edit))
            self.assertIs(verdict.holds, False, str(verdict))


if __name__ == "__main__":
    unittest.main()
