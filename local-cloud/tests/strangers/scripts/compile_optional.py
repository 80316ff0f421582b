# torch.compile where it can be had: switched off by the usual variable, the model runs eagerly.
# exit: 0
# log: compiled model gives 8 rows
import os

os.environ["TORCHDYNAMO_DISABLE"] = "1"
import torch


@torch.no_grad()
def main():
    model = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    if hasattr(torch, "compile"):
        model = torch.compile(model)
    out = model(torch.randn(8, 5, 16))
    print("compiled model gives", len(out), "rows")


main()
