# Makes a wheel, installs it by `python -m pip`, and uses it; the shared environment stays as it is.
# exit: 0
# log: the wheel says 42
# log: shared environment untouched
import importlib
import subprocess
import sys
import zipfile
from pathlib import Path

info = "strangers_wheel-1.0.dist-info"
with zipfile.ZipFile("strangers_wheel-1.0-py3-none-any.whl", "w") as z:
    z.writestr("strangers_wheel/__init__.py", "ANSWER = 42\n")
    z.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: strangers-wheel\nVersion: 1.0\n")
    z.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr(f"{info}/RECORD", "")
subprocess.check_call([sys.executable, "-m", "pip", "install", "./strangers_wheel-1.0-py3-none-any.whl"])
code = "import strangers_wheel; print('the wheel says', strangers_wheel.ANSWER)"
subprocess.check_call([sys.executable, "-c", code])
importlib.invalidate_caches()
import strangers_wheel

others = [p for p in sys.path if p.endswith("site-packages") and not p.startswith(sys.prefix)]
if not others or any((Path(p) / "strangers_wheel").exists() for p in others):
    sys.exit("the wheel went into the shared environment")
print("shared environment untouched")
