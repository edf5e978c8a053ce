"""The character LSTM of `train run text-lstm` by Opacus, on FOLDER/train.csv and test.csv with two columns, text and class:

    python bench/names_opacus.py FOLDER SIGMA STEPS [SEED]

Embedding 16, LSTM of 32, last output; Adam at 0.01, clip norm 0.5, Poisson batches of 1,024 expected, at most 16 bytes.
"""
import csv, pathlib, sys, time, warnings

import torch
from opacus import PrivacyEngine
from opacus.layers import DPLSTM

warnings.simplefilter("ignore")
folder, sigma, steps = pathlib.Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
torch.manual_seed(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
torch.set_num_threads(2)


def read(part):
    with open(folder / f"{part}.csv", newline="", encoding="utf-8") as f:
        rows = list(csv.reader(f))[1:]
    classes = sorted({c for _, c in rows})
    texts = [t.encode()[:16] for t, _ in rows]
    x = torch.tensor([list(t) + [0] * (16 - len(t)) for t in texts])
    return torch.utils.data.TensorDataset(x, torch.tensor([len(t) for t in texts]), torch.tensor([classes.index(c) for _, c in rows]))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.head = torch.nn.Embedding(256, 16), DPLSTM(16, 32, batch_first=True), torch.nn.Linear(32, 2)

    def forward(self, x, length):
        h, _ = self.lstm(self.embedding(x))  # what follows the last byte changes nothing before it
        return self.head(h[torch.arange(len(x)), length - 1])


train, test = read("train"), read("test")
net = Net()
loader = torch.utils.data.DataLoader(train, batch_size=1024)
net, optimizer, loader = PrivacyEngine(accountant="rdp").make_private(
    module=net, optimizer=torch.optim.Adam(net.parameters(), lr=0.01), data_loader=loader, noise_multiplier=sigma, max_grad_norm=0.5)
done, begun, cpu = 0, time.time(), time.process_time()
while done < steps:
    for x, length, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x, length), y).backward()
        optimizer.step()
        if (done := done + 1) >= steps:
            break
seconds, cpu = time.time() - begun, time.process_time() - cpu
net.eval()
with torch.no_grad():
    x, length, y = test.tensors
    right = (net(x, length).argmax(1) == y).float().mean().item()
print(f"{done} steps: {100 * right:.2f} % right, {seconds:.1f} s, {cpu:.1f} s of processor time")
