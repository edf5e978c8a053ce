"""What timm, torchvision and Hugging Face compute with given weights, for internal/naming to compare itself with.

    pip install torch==2.15.0 torchvision timm transformers
    python bench/public_weights.py > internal/naming/testdata/logits.json

Weights and pictures are drawn by a hash that the test repeats, so that only names, shapes and logits are kept.
"""

import json
import math
import sys
import tempfile

import numpy as np
import timm
import torch
import torchvision
import transformers
from safetensors.torch import load_file, save_file
from timm.models.resnet import BasicBlock, ResNet
from timm.models.vision_transformer import VisionTransformer
from transformers import ViTConfig, ViTForImageClassification


def drawn(name, n):
    """n numbers from -0.5 to 0.5, by a hash of the name and the place."""
    seed = 0
    for c in name.encode():
        seed = (seed * 31 + c) & 0xFFFFFFFF
    h = (np.arange(n, dtype=np.uint64) * 2654435761 + seed) & 0xFFFFFFFF
    h ^= h >> 15
    h = (h * 2246822519) & 0xFFFFFFFF
    h ^= h >> 13
    h = (h * 3266489917) & 0xFFFFFFFF
    h ^= h >> 16
    return h.astype(np.float64) / 2**32 - 0.5


def weights(name, shape):
    v = drawn(name, math.prod(shape))
    if len(shape) > 1 and shape[0] > 1:
        v = v * 2 * math.sqrt(3 / math.prod(shape[1:]))
    elif name.endswith("running_var"):
        v = v + 1
    elif len(shape) == 1 and name.endswith(".weight"):
        v = 0.4 * v + 1
    else:
        v = 0.4 * v
    return torch.from_numpy(v.astype(np.float32)).reshape(shape)


def case(name, source, network, size, n=2, tensors=None, vocabulary=0):
    network.eval()
    if tensors is None:
        tensors = {k: list(t.shape) for k, t in network.state_dict().items()}
        network.load_state_dict({k: weights(k, s) if s else torch.tensor(0) for k, s in tensors.items()})
    if vocabulary:  # texts of tokens from 1, of which the second is shorter
        inputs = [torch.from_numpy(1 + ((drawn("texts", n * size) + 0.5) * (vocabulary - 1)).astype(int)).reshape(n, size)]
        inputs[0][1, size // 2:] = 0
        inputs.append((inputs[0] > 0).long())
    else:
        inputs = [torch.from_numpy((4 * drawn("pictures", n * 3 * size * size)).astype(np.float32)).reshape(n, 3, size, size)]
    with torch.no_grad():
        logits = network(*inputs) if len(inputs) == 1 else network(input_ids=inputs[0], attention_mask=inputs[1])
    logits = getattr(logits, "logits", logits)
    return {"name": name, "source": source, "size": size, "vocabulary": vocabulary, "tensors": tensors, "logits": logits.flatten().tolist()}


def hugging_face(kind, config):
    """A network from a file as Hugging Face writes it, whose names are others than those in memory, and the file's tensors."""
    with tempfile.TemporaryDirectory() as folder:
        kind(config).save_pretrained(folder)
        path = f"{folder}/model.safetensors"
        drawn = {k: weights(k, list(t.shape)) for k, t in load_file(path).items()}
        save_file(drawn, path, {"format": "pt"})
        return kind.from_pretrained(folder), {k: list(t.shape) for k, t in drawn.items()}


vit = dict(img_size=16, patch_size=8, embed_dim=24, depth=2, num_heads=3, num_classes=10)
torch_timm = f"torch {torch.__version__}, timm {timm.__version__}"
cases = [
    case("small resnet", torch_timm, ResNet(BasicBlock, [1, 2, 1, 1], channels=(8, 12, 12, 16), num_classes=10), 32),
    case("small vit", torch_timm, VisionTransformer(**vit), 16),
    case("resnet18", f"torch {torch.__version__}, torchvision {torchvision.__version__}", torchvision.models.resnet18(num_classes=10), 64),
    case("vit-tiny-patch16", torch_timm, timm.create_model("vit_tiny_patch16_224", num_classes=10), 224),
]
config = ViTConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=48, image_size=16, patch_size=8, num_labels=10)
network, tensors = hugging_face(ViTForImageClassification, config)
source = f"torch {torch.__version__}, transformers {transformers.__version__}"
cases.append(case("small vit of hugging face", source, network, 16, tensors=tensors))
bert = dict(vocab_size=50, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=48, max_position_embeddings=16, num_labels=10)
distil = dict(vocab_size=50, dim=24, n_layers=2, n_heads=3, hidden_dim=48, max_position_embeddings=16, num_labels=10)
gpt2 = dict(vocab_size=50, n_embd=24, n_layer=2, n_head=3, n_inner=48, n_positions=16, num_labels=10, pad_token_id=0)
for name, kind, config in [
    ("small bert", transformers.BertForSequenceClassification, transformers.BertConfig(**bert)),
    ("small distilbert", transformers.DistilBertForSequenceClassification, transformers.DistilBertConfig(**distil)),
    ("small gpt2", transformers.GPT2ForSequenceClassification, transformers.GPT2Config(**gpt2)),
]:
    network, tensors = hugging_face(kind, config)
    cases.append(case(name, source, network, 12, tensors=tensors, vocabulary=50))
json.dump(cases, sys.stdout, separators=(",", ":"))
print()
