# Changes its working folder, uses relative paths, __file__, and a module that it writes itself.
# exit: 0
# log: config read beside the script: yes
# log: generated module says 42
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
os.makedirs("work/deep", exist_ok=True)
os.chdir("work/deep")
with open("generated_module.py", "w") as f:
    f.write("ANSWER = 42\n")
sys.path.insert(0, ".")
import generated_module

print("config read beside the script:", "yes" if os.path.exists(os.path.join(here, "task.py")) else "no")
os.chdir("../..")
print("generated module says", generated_module.ANSWER)
assert sys.argv[0].endswith("task.py")
