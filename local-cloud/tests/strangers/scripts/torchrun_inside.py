# Starts torchrun from inside: the script calls itself with two processes.
# exit: 0
# log: worker 1 of 2
# log: torchrun ended with 0
import os
import subprocess
import sys

if "TORCHELASTIC_RUN_ID" in os.environ:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo")
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == 2
    # One write: torchrun starts Python unbuffered, and print writes a line in pieces.
    sys.stdout.write(f"worker {os.environ['RANK']} of {os.environ['WORLD_SIZE']}\n")
    dist.destroy_process_group()
else:
    cmd = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", os.path.abspath(__file__)]
    code = subprocess.call(cmd, stdout=sys.stdout, stderr=sys.stderr)
    print("torchrun ended with", code)
    sys.exit(code)
