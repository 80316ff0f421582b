# Mixed precision on the CPU, two schedulers, gradient accumulation, a GradScaler that is off.
# exit: 0
# log: lr after 6 epochs
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
scaler = torch.amp.GradScaler(device, enabled=device == "cuda")
net = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.BatchNorm1d(32), torch.nn.GELU(), torch.nn.Linear(32, 3)).to(device)
opt = torch.optim.AdamW(net.parameters(), lr=0.1, weight_decay=1e-2)
warm = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=2)
cos = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)
sched = torch.optim.lr_scheduler.SequentialLR(opt, [warm, cos], milestones=[2])
x, y = torch.randn(64, 10, device=device), torch.randint(0, 3, (64,), device=device)
for epoch in range(6):
    for i, (a, b) in enumerate(zip(x.chunk(4), y.chunk(4))):
        with torch.autocast(device_type=device, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(net(a), b) / 2
        scaler.scale(loss).backward()
        if i % 2:
            scaler.step(opt)
            scaler.update()
            opt.zero_grad(set_to_none=True)
    sched.step()
print("lr after 6 epochs", sched.get_last_lr()[0])
