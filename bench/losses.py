"""Print losses and gradients of PyTorch's for model/loss_golden_test.go: python bench/losses.py"""
import torch
from torch import nn

rows = torch.tensor([[0.5, -1.25, 2.0], [-0.75, 0.1, 0.3]])
weights = torch.tensor([0.5, 2.0, 3.0])
numbers = torch.tensor([-10.0, 5.0, 29.0, 50.0, -40.0, 12.0])
scaled = ((2 * numbers - 20) / 40).clamp(-1, 1)
labels = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
cases = {
    "smoothed": (rows, torch.tensor([2.0, 0.0]), lambda z: nn.CrossEntropyLoss(weights, label_smoothing=0.2, reduction="none")(z, torch.tensor([2, 0]))),
    "binary": (rows, labels, lambda z: nn.BCEWithLogitsLoss(pos_weight=weights, reduction="none")(z, labels).mean(1)),
    "squared": (rows.flatten(), numbers, lambda z: nn.MSELoss(reduction="none")(z, scaled)),
    "huber": (rows.flatten(), numbers, lambda z: nn.HuberLoss(delta=0.5, reduction="none")(z, scaled)),
}
show = lambda x: "{" + ", ".join(f"{v:.9g}" for v in x.flatten().tolist()) + "}"
print(f"package model_test\n\n// Written by bench/losses.py with torch {torch.__version__}.\nvar goldenLosses = map[string]struct{{ targets, losses, gradients []float32 }}{{")
for name, (z, targets, loss) in cases.items():
    z = z.clone().requires_grad_()
    value = loss(z)
    value.sum().backward()
    print(f'\t"{name}": {{\n\t\t[]float32{show(targets)},\n\t\t[]float32{show(value)},\n\t\t[]float32{show(z.grad)},\n\t}},')
print("}")
