"""Prints how far the logits of exported models are from the trainer's.

    pip install torch onnx onnxruntime peft
    python check.py FOLDER...

Each folder holds model.onnx, model.py with model.safetensors, case.json with the shape of the input, input.bin and
logits.bin, both float32. A line for each folder: its name, then the largest difference of onnxruntime's and of PyTorch's
logits, and of PEFT's where there is a folder model-peft; and what is wrong with the ONNX file by its own checker.
"""

import importlib.util
import json
import pathlib
import sys
import warnings

import numpy
import onnx
import onnxruntime
import torch

torch.set_num_threads(2)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 2


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def peft(folder):
    """The adapted model, whose whole modules begin at other values: what matters of them is in PEFT's files."""
    from peft import PeftModel

    base = imported(folder / "base.py").load()
    for name in json.loads((folder / "adapter_config.json").read_text())["modules_to_save"]:
        for p in base.get_submodule(name).parameters():
            torch.nn.init.ones_(p)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # about keys that are missing or not known
        return PeftModel.from_pretrained(base, folder).eval()


for folder in map(pathlib.Path, sys.argv[1:]):
    about = json.loads((folder / "case.json").read_text())
    x = numpy.fromfile(folder / "input.bin", dtype="<f4").reshape(about["shape"])
    want = numpy.fromfile(folder / "logits.bin", dtype="<f4").reshape(len(x), -1)

    onnx.checker.check_model(str(folder / "model.onnx"), full_check=True)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    (found,) = session.run(["logits"], {session.get_inputs()[0].name: x})
    recurrent = any(node.op_type in ("LSTM", "GRU") for node in onnx.load(str(folder / "model.onnx")).graph.node)
    for n in range(1 if recurrent else 0, 2):  # an empty batch (ONNX Runtime 1.32.0 aborts at that in its LSTM), and one example alone
        (some,) = session.run(["logits"], {session.get_inputs()[0].name: x[:n]})
        assert some.shape == want[:n].shape and abs(some - found[:n]).max(initial=0) <= 1e-4, (folder.name, n, some.shape)
    metadata = session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["classes"]) == about["classes"], metadata["classes"]
    assert metadata["privacy.epsilon"] == about["epsilon"], metadata["privacy.epsilon"]

    line = {"name": folder.name, "onnx": float(abs(found - want).max()), "largest": float(abs(want).max())}
    if (folder / "model.py").exists():
        module = imported(folder / "model.py")
        assert module.CLASSES == about["classes"]
        with torch.no_grad():
            line["torch"] = float(abs(module.load()(torch.from_numpy(x)).numpy() - want).max())
            if (folder / "model-peft").exists():
                adapted = peft(folder / "model-peft")
                line["peft"] = float(abs(adapted(torch.from_numpy(x)).numpy() - want).max())
                merged = adapted.merge_and_unload()(torch.from_numpy(x)).numpy()
                line["peft"] = max(line["peft"], float(abs(merged - want).max()))
    print(json.dumps(line))
