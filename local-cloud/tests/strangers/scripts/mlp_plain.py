# A multilayer perceptron as in a first tutorial: no arguments, no guard, loss printed.
# exit: 0
# log: step 19 loss
import torch
import torch.nn as nn

torch.manual_seed(0)
X = torch.randn(500, 7)
y = (X.sum(dim=1) > 0).float().unsqueeze(1)
model = nn.Sequential(nn.Linear(7, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    opt.zero_grad()
    loss = nn.BCELoss()(model(X), y)
    loss.backward()
    opt.step()
    print("step", step, "loss", loss.item())
