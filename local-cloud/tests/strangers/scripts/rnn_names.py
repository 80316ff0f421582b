# A character LSTM, trained letter by letter, that samples at the end.
# exit: 0
# log: sampled:
# hyperparameters: {"hidden_size": 16}
import argparse
import string
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--hidden_size", type=int, default=32)
parser.add_argument("--lr", type=float, default=0.005)
opt = parser.parse_args()
letters = string.ascii_lowercase + "."
words = ["anna", "bert", "carl", "dora", "emil", "frida"]
net = nn.LSTM(len(letters), opt.hidden_size, batch_first=True)
head = nn.Linear(opt.hidden_size, len(letters))
optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=opt.lr)
start = time.time()
for it in range(30):
    word = words[it % len(words)] + "."
    ids = torch.tensor([letters.index(c) for c in word])
    x = nn.functional.one_hot(ids[:-1], len(letters)).float()[None]
    out, _ = net(x)
    loss = nn.functional.cross_entropy(head(out)[0], ids[1:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if it % 10 == 0:
        print("%dm %ds (%d %d%%) %.4f" % (0, time.time() - start, it, it / 30 * 100, loss))
with torch.no_grad():
    state, c, said = None, "a", "a"
    for _ in range(5):
        x = nn.functional.one_hot(torch.tensor([[letters.index(c)]]), len(letters)).float()
        out, state = net(x, state)
        c = letters[int(head(out)[0, -1].argmax())]
        said += c
print("sampled:", said)
