# Temporary files, one of 60 MB, caches below $HOME and where XDG says, a getpass.
# exit: 0
# log: cache is writable
# log: 60 MB there and gone
import getpass
import os
import tempfile
from pathlib import Path

cache = Path.home() / ".cache" / "torch" / "hub"
cache.mkdir(parents=True, exist_ok=True)
(cache / "weights.bin").write_bytes(b"0" * 1000)
assert Path(os.path.expanduser("~/.cache")).exists()
print("cache is writable", os.environ["HOME"] != "", bool(getpass.getuser()))
with tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile() as f:
    f.write(b"\0" * 60_000_000)
    f.flush()
    assert os.path.getsize(f.name) == 60_000_000 and os.listdir(d) == []
print("60 MB there and gone")
