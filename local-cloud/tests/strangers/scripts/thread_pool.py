# ThreadPoolExecutor and ProcessPoolExecutor over small torch jobs, with results as they come.
# exit: 0
# log: threads: 8 results
# log: processes: [0, 1, 4, 9]
import concurrent.futures
import operator

import torch


def job(i):
    torch.manual_seed(i)
    a = torch.randn(50, 50, requires_grad=True)
    (a @ a).sum().backward()
    return a.grad.norm().item()


if __name__ == "__main__":
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as ex:
        futures = {ex.submit(job, i): i for i in range(8)}
        done = [f.result() for f in concurrent.futures.as_completed(futures)]
    print("threads:", len(done), "results")
    with concurrent.futures.ProcessPoolExecutor(max_workers=2) as ex:
        print("processes:", list(ex.map(operator.mul, range(4), range(4))))
