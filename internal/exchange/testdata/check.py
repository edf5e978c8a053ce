"""Prints how far the logits of exported models are from the trainer's.

    pip install torch onnx onnxruntime
    python check.py FOLDER...

Each folder holds model.onnx, model.py with model.safetensors, case.json with the shape of the input, input.bin and
logits.bin, both float32. A line for each folder: its name, then the largest difference of onnxruntime's and of PyTorch's
logits; and what is wrong with the ONNX file by its own checker.
"""

import importlib.util
import json
import pathlib
import sys

import numpy
import onnx
import onnxruntime
import torch

torch.set_num_threads(2)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 2
for folder in map(pathlib.Path, sys.argv[1:]):
    about = json.loads((folder / "case.json").read_text())
    x = numpy.fromfile(folder / "input.bin", dtype="<f4").reshape(about["shape"])
    want = numpy.fromfile(folder / "logits.bin", dtype="<f4").reshape(len(x), -1)

    onnx.checker.check_model(str(folder / "model.onnx"), full_check=True)
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    (found,) = session.run(["logits"], {session.get_inputs()[0].name: x})
    for n in range(2):  # an empty batch, and one example alone
        (some,) = session.run(["logits"], {session.get_inputs()[0].name: x[:n]})
        assert some.shape == want[:n].shape and abs(some - found[:n]).max(initial=0) <= 1e-4, (folder.name, n, some.shape)
    metadata = session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["classes"]) == about["classes"], metadata["classes"]
    assert metadata["privacy.epsilon"] == about["epsilon"], metadata["privacy.epsilon"]

    spec = importlib.util.spec_from_file_location("model", folder / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.CLASSES == about["classes"]
    with torch.no_grad():
        torched = module.load()(torch.from_numpy(x)).numpy()
    print(json.dumps({"name": folder.name, "onnx": float(abs(found - want).max()), "torch": float(abs(torched - want).max()),
                      "largest": float(abs(want).max())}))
