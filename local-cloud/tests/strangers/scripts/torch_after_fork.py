# Uses torch's thread pools, then forks workers that use them too, as older training loops do.
# exit: 0
# log: child trained
# log: parent goes on
import os

os.environ["OMP_NUM_THREADS"] = "2"
import torch
import torch.multiprocessing as mp


def train(n):
    torch.set_num_threads(n)
    x = torch.randn(300, 300, requires_grad=True)
    for _ in range(3):
        (x @ x).pow(2).mean().backward()
    return x.grad.norm().item()


def child():
    train(1)
    print("child trained", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(2)
    train(2)
    context = mp.get_context("spawn")
    p = context.Process(target=child)
    p.start()
    p.join()
    assert p.exitcode == 0, p.exitcode
    train(2)
    print("parent goes on")
