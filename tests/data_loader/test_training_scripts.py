"""PyTorch training scripts produce bit-identical losses after the import is changed."""

import pytest

torch = pytest.importorskip("torch")

CLASSIFIER = """
import torch
from torch import nn
from torch.utils.data import Dataset, TensorDataset, random_split
{imports}

torch.manual_seed(0)
x = torch.randn(240, 6)
y = (x.sum(1) > 0).long()
train, test = random_split(TensorDataset(x, y), [200, 40])
train_loader = DataLoader(train, batch_size=32, shuffle=True, {options})
test_loader = DataLoader(test, batch_size=16)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for epoch in range(3):
    model.train()
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        right = sum((model(a).argmax(1) == b).sum().item() for a, b in test_loader)
    losses.append(right / len(test_loader.dataset))
losses.append(len(train_loader))
"""

SEQUENCES = """
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, WeightedRandomSampler
{imports}

class Words(Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.words = [rng.integers(1, 20, rng.integers(2, 9)) for _ in range(90)]

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        word = self.words[i]
        return torch.as_tensor(word), float(word.mean())

def pad(samples):
    words, means = zip(*samples)
    return pad_sequence(words, batch_first=True), torch.tensor(means)

torch.manual_seed(1)
words = Words()
weights = [len(word) for word in words.words]
sampler = WeightedRandomSampler(weights, 64)
loader = DataLoader(words, 8, sampler=sampler, collate_fn=pad, drop_last=True, {options})
model = nn.EmbeddingBag(20, 1, padding_idx=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
losses = []
for epoch in range(3):
    for i, (batch, means) in enumerate(loader):
        loss = ((model(batch).squeeze(1) - means) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
"""

STREAM = """
import torch
from torch.utils.data import IterableDataset, get_worker_info
{imports}

class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, 50, step):
            yield {{"x": torch.full((3,), float(i)), "name": str(i)}}

losses = []
for batch in DataLoader(Stream(), batch_size=7, {options}):
    losses += batch["x"].mean(1).tolist() + batch["name"]
losses = sorted(map(str, losses))
"""


def losses_of(script, imports, options):
    names = {"__name__": "script"}
    exec(script.format(imports=imports, options=options), names)
    return names["losses"]


@pytest.mark.parametrize("options", ["", "num_workers=1", "num_workers=2"])
@pytest.mark.parametrize("script", [CLASSIFIER, SEQUENCES, STREAM])
def test_only_the_import_changes(script, options):
    expected = losses_of(script, "from torch.utils.data import DataLoader", "")
    assert len(expected) > 20
    assert losses_of(script, "from penstock import DataLoader", options) == expected
