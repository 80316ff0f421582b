import torch


def build():
    return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.PReLU())
