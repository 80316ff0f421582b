# Sets torch's threads itself, twice, and trains with more of them than there are processors.
# exit: 0
# log: trained with 4 threads
import torch

torch.set_num_interop_threads(2)
torch.set_num_threads(4)
a = torch.randn(400, 400, requires_grad=True)
for _ in range(5):
    (a @ a).relu().sum().backward()
print("trained with", torch.get_num_threads(), "threads")
